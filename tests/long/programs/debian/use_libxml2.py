# packages: python3-libxml2
import libxml2

seen = []
libxml2.registerErrorHandler(lambda context, text: seen.append(text), None)
document = libxml2.parseDoc("<a><b id='1'>one</b><b id='2'>two</b></a>")
assert [node.content for node in document.xpathEval("//b[@id='2']")] == ["two"]
context = document.xpathNewContext()
libxml2.registerXPathFunction(context._o, "twice", None, lambda context, number: 2 * number)
assert context.xpathEval("twice(21)") == 42
context.xpathFreeContext()
document.freeDoc()
try:
    libxml2.parseDoc("<a><b></a>")
    raise AssertionError("no exception")
except libxml2.parserError:
    assert "mismatch" in "".join(seen)
