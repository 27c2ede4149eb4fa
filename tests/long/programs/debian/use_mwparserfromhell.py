# packages: python3-mwparserfromhell
import mwparserfromhell
from mwparserfromhell import parser

assert parser.use_c
code = mwparserfromhell.parse("{{box|name=[[Link|text]]|2}} ''italic'' <ref>note</ref>")
template = code.filter_templates()[0]
assert template.name == "box" and [str(param) for param in template.params] == ["name=[[Link|text]]", "2"]
assert code.filter_wikilinks()[0].text == "text" and code.filter_tags()[1].contents == "note"
