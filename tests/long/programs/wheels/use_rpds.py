# packages: rpds-py
from rpds import HashTrieMap

first = HashTrieMap({"a": 1})
second = first.insert("b", 2)
assert dict(first) == {"a": 1} and dict(second) == {"a": 1, "b": 2}
try:
    first["b"]
except KeyError:
    pass
else:
    raise AssertionError("found what was never put in")
