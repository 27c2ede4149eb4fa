# packages: python3-intbitset
from intbitset import intbitset

numbers = intbitset([1, 5, 1000])
assert list(numbers & intbitset(range(10))) == [1, 5] and 1000 in numbers
other = intbitset()
other.fastload(numbers.fastdump())
assert other == numbers
try:
    numbers[5]
    raise AssertionError("no exception")
except IndexError:
    pass
