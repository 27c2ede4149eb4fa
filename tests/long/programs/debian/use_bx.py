# packages: python3-bx
from bx.bitset import BinnedBitSet
from bx.intervals import Intersecter, Interval

tree = Intersecter()
for start, end in ((1, 5), (4, 8), (20, 30)):
    tree.add_interval(Interval(start, end))
assert [(found.start, found.end) for found in tree.find(4, 10)] == [(1, 5), (4, 8)]
bits = BinnedBitSet(1000)
bits.set_range(10, 5)
assert bits.count_range(0, 100) == 5 and bits.next_set(0) == 10
