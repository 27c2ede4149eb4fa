# packages: regex
import regex

assert regex.findall(r"\p{Lu}\w*", "Äpfel und Birnen") == ["Äpfel", "Birnen"]
assert regex.fullmatch(r"(?:snake){e<=1}", "snace")
