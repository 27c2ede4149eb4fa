# packages: python3-lru-dict
from lru import LRU

gone = []
recent = LRU(2, callback=lambda key, value: gone.append(key))
recent["a"], recent["b"] = 1, 2
assert recent["a"] == 1
recent["c"] = 3
assert gone == ["b"] and recent.keys() == ["c", "a"]
