# packages: python3-cytoolz
import cytoolz
from cytoolz import curried

assert cytoolz.pipe(range(10), curried.filter(lambda x: x % 2), curried.map(lambda x: x * x), sum) == 165
assert cytoolz.groupby(len, ["a", "bb", "c"]) == {1: ["a", "c"], 2: ["bb"]}
assert list(cytoolz.sliding_window(2, [1, 2, 3])) == [(1, 2), (2, 3)]
assert cytoolz.merge_with(sum, {1: 1}, {1: 2}) == {1: 3}
