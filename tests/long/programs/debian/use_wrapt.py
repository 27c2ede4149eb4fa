# packages: python3-wrapt
import wrapt
from wrapt import _wrappers

assert wrapt.ObjectProxy is _wrappers.ObjectProxy
calls = []


@wrapt.decorator
def noted(wrapped, instance, args, kwargs):
    calls.append((wrapped.__name__, args))
    return wrapped(*args, **kwargs)


@noted
def double(x):
    return 2 * x


assert double(4) == 8 and calls == [("double", (4,))]
proxy = wrapt.ObjectProxy([1, 2])
proxy += [3]
assert proxy == [1, 2, 3] and isinstance(proxy, list)
