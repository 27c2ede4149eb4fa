# packages: python3-frozenlist
import frozenlist

assert frozenlist.FrozenList is not frozenlist.PyFrozenList
items = frozenlist.FrozenList([1, 2])
items.append(3)
items.freeze()
assert hash(items) and list(items) == [1, 2, 3]
try:
    items.append(4)
    raise AssertionError("no exception")
except RuntimeError:
    pass
