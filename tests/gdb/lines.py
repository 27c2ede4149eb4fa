"""A program whose lines debuggers stop at. It prints what CPython says of the stack at the moment in which its functions call C."""
import functools
import sys
import time

TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 1


def price(n, rate=2):
    total = n * rate
    name = "item"  # the line after
    return total


def each(a, b):
    c = a + price(b)  # calls price
    return c


def told():
    frame, stack = sys._getframe(), []
    while frame:
        stack.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    print("stack", *stack, flush=True); time.sleep(0)
    return len(stack)


def recursive(n):
    if n:
        return 1 + recursive(n - 1)
    return told() + functools.reduce(each, [1, 2, 3])


class Basket:
    def __init__(self, count):
        self.content = [recursive(i) for i in range(count)]

    @property
    def size(self):
        return sum(map(lambda v: v + told() * 0, self.content))


def generator(basket):
    yield basket.size
    yield from (told() for _ in range(2))


def main():
    result = 0
    for value in generator(Basket(2)):
        result += value
    return result


for _ in range(TURNS):
    main()
    if TURNS > 1:
        time.sleep(0.001)
try:
    [].index(1)
except ValueError:
    print("done", flush=True)
