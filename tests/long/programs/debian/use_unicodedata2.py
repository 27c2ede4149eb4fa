# packages: python3-unicodedata2
import unicodedata2

assert unicodedata2.name("\U0001f40d") == "SNAKE" and unicodedata2.normalize("NFD", "\u00fc") == "u\u0308"
assert unicodedata2.lookup("GREEK SMALL LETTER GAMMA") == "\u03b3" and unicodedata2.unidata_version >= "14"
