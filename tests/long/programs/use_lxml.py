# SPDX-License-Identifier: MIT
"""lxml: parsing, XPath with a Python function, XSLT, an error with its line, a resolver called back."""

import rounds

rounds.begin()

from lxml import etree  # noqa: E402

tree = etree.XML("<shelf>" + "".join(f"<book id='{i}'><price>{i * 1.5}</price></book>" for i in range(200)) + "</shelf>")
functions = etree.FunctionNamespace("urn:test")
functions.prefix = "t"
functions["twice"] = lambda context, value: 2 * value
assert tree.xpath("t:twice(count(//book[price > 150]))") == 198.0
assert tree.xpath("string(//book[@id='7']/price)") == "10.5"


def fail(context):
    raise LookupError("from a callback")


functions["fail"] = fail
try:
    tree.xpath("t:fail()")
    raise AssertionError("no exception came through XPath")
except LookupError as error:
    assert str(error) == "from a callback"

sheet = etree.XSLT(etree.XML(
    "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template match='/'>"
    "<sum><xsl:value-of select='sum(//price)'/></sum></xsl:template></xsl:stylesheet>"))
assert sheet(tree).getroot().text == str(sum(i * 1.5 for i in range(200))).removesuffix(".0")
try:
    etree.fromstring("<a>\n<b></a>")
    raise AssertionError("a broken document was parsed")
except etree.XMLSyntaxError as error:
    assert error.lineno == 2, error


class Resolver(etree.Resolver):
    def resolve(self, url, public_id, context):
        return self.resolve_string(f"<!ENTITY word '{url}'>", context)


parser = etree.XMLParser(load_dtd=True, resolve_entities=True)
parser.resolvers.add(Resolver())
assert etree.fromstring("<!DOCTYPE r SYSTEM 'there'><r>&word;</r>", parser).text == "there"
rounds.done()
