# packages: python3-html5-parser python3-lxml
from html5_parser import parse

root = parse("<p>one<p>two <b>bold")
assert [p.text.strip() for p in root.iter("p")] == ["one", "two"] and root.find(".//b").text == "bold"
