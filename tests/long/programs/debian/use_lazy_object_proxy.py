# packages: python3-lazy-object-proxy
from lazy_object_proxy import cext

calls = []
proxy = cext.Proxy(lambda: calls.append(1) or [1, 2])
assert not calls and proxy + [3] == [1, 2, 3] and len(proxy) == 2 and calls == [1]
