# packages: lxml
from lxml import etree, html, objectify

tree = etree.fromstring("<a xmlns:s='urn:s'><s:b n='1'/><s:b n='2'/></a>")
assert tree.xpath("sum(//s:b/@n)", namespaces={"s": "urn:s"}) == 3
style = etree.XSLT(etree.fromstring(
    "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>"
    "<xsl:template match='/'><o><xsl:value-of select='count(//*)'/></o></xsl:template></xsl:stylesheet>"))
assert style(tree).getroot().text == "3"
assert html.fromstring("<p>x<b>y</p>").text_content() == "xy"
assert objectify.fromstring("<r><n>4</n></r>").n + 1 == 5
