# packages: python3-zope.proxy
from zope.proxy import ProxyBase, _zope_proxy_proxy, getProxiedObject, sameProxiedObjects

assert ProxyBase is _zope_proxy_proxy.ProxyBase
numbers = [1, 2]
proxy = ProxyBase(numbers)
proxy.append(3)
assert numbers == [1, 2, 3] and proxy == numbers and getProxiedObject(proxy) is numbers
assert sameProxiedObjects(proxy, ProxyBase(proxy)) and len(proxy) == 3
