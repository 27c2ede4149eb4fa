# packages: python3-hiredis
import hiredis

reader = hiredis.Reader(encoding="utf-8")
reader.feed(b"*3\r\n$3\r\nf")
assert reader.gets() is False
reader.feed(b"oo\r\n:42\r\n-ERR bad\r\n")
word, number, error = reader.gets()
assert (word, number) == ("foo", 42) and isinstance(error, hiredis.ReplyError)
reader.feed(b"garbage")
try:
    reader.gets()
    raise AssertionError("no exception")
except hiredis.ProtocolError:
    pass
