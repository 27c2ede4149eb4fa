# packages: python3-multidict
import multidict
from multidict import _multidict

assert multidict.CIMultiDict is _multidict.CIMultiDict
headers = multidict.CIMultiDict([("Accept", "a"), ("ACCEPT", "b"), ("Host", "c")])
assert headers.getall("accept") == ["a", "b"] and len(headers) == 3
proxy = multidict.CIMultiDictProxy(headers)
headers.popall("Accept")
assert list(proxy.items()) == [("Host", "c")]
