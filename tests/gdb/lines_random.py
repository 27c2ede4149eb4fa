"""A program for random sessions: calls of all kinds. For each thread that runs it there is a file."""
import asyncio
import functools
import os
import sys
import threading
import traceback  # debuggers' questions use it

open(f"{sys.argv[1]}.{threading.get_native_id()}", "w").close()
print("ready", flush=True)


def add(a, b):
    c = a + b
    return c


def key(v):
    k = -v
    return k


def reduced(v):
    r = functools.reduce(add, v)
    w = sorted(v, key=key)
    return r + w[0]


def recursive(n):
    if n == 0:
        return reduced([1, 2, 3])
    x = recursive(n - 1)
    return x + abs(-n)


def generator(n):
    for i in range(n):
        yield recursive(i)


async def child(k):
    await asyncio.sleep(0)
    return k + recursive(1)


async def parent():
    a = await child(1)
    b = await child(a)
    return a + b


class Kind:
    def __init__(self, v):
        self.v = v  # in __init__

    def __add__(self, other):
        z = self.v + other
        return Kind(z)

    @property
    def smallest(self):
        return max([self.v, 1], key=lambda q: -q)


def fails(n):
    try:
        return recursive(1) / n
    except ZeroDivisionError:
        return sum(generator(2))


def main():
    t = 0
    for v in generator(3):
        t += v
    u = list(map(lambda q: q + recursive(0), [1, 2]))
    t += sum(u)
    k = Kind(t) + 3
    t += k.smallest
    t += fails(0)
    t += asyncio.run(parent())
    return t


total = main()
while not os.path.exists(sys.argv[2]):  # the session goes on
    total = main()
print("answer", total, flush=True)
