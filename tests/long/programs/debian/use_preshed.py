# packages: python3-preshed
from preshed.bloom import BloomFilter
from preshed.counter import PreshCounter
from preshed.maps import PreshMap

numbers = PreshMap()
for i in range(2, 1000):
    numbers[i] = i * i
assert numbers[31] == 961 and len(numbers) == 998 and numbers[5000] is None
counter = PreshCounter()
counter.inc(7, 3)
assert counter[7] == 3
bloom = BloomFilter(size=1000, hash_funcs=5)
bloom.add(42)
assert 42 in bloom and 43 not in bloom
