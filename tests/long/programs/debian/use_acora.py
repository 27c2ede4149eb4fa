# packages: python3-acora
from acora import AcoraBuilder

matches = AcoraBuilder("ab", "bc", "de").build().findall("abcd de")
assert matches == [("ab", 0), ("bc", 1), ("de", 5)], matches
assert AcoraBuilder(b"\x00\xff", b"\xff").build().findall(b"a\x00\xff") == [(b"\x00\xff", 1), (b"\xff", 2)]
