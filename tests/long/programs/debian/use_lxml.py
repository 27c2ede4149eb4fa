# packages: python3-lxml
from lxml import etree, html, objectify

tree = etree.XML("<shelf><book price='3'/><book price='5'/></shelf>")
etree.FunctionNamespace("urn:t")["twice"] = lambda context, value: 2 * value
assert tree.xpath("t:twice(sum(//@price))", namespaces={"t": "urn:t"}) == 16.0
sheet = etree.XSLT(etree.XML(
    '<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform">'
    '<x:template match="/"><n><x:value-of select="count(//book)"/></n></x:template></x:stylesheet>'))
assert sheet(tree).getroot().text == "2"
assert objectify.fromstring("<a><b>7</b></a>").b + 1 == 8
assert html.fromstring("<p>one<b>two").text_content() == "onetwo"
try:
    etree.fromstring("<a>\n<b></a>")
    raise AssertionError("no exception")
except etree.XMLSyntaxError as error:
    assert error.lineno == 2
