# packages: python3-kyotocabinet
import kyotocabinet

base = kyotocabinet.DB()
assert base.open("%", base.OWRITER | base.OCREATE)
base.set("b", "two")
base.set("a", "one")
assert base.cas("a", "one", "ONE") and not base.cas("b", "one", "ONE")
assert list(base) == [b"a", b"b"] and base.get_str("a") == "ONE"
assert base.increment("n", 5) == 5 and base.increment("n", 2) == 7
assert base.get("nothing") is None and base.error() == kyotocabinet.Error.NOREC
assert base.close()
