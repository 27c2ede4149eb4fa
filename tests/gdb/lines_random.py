"""A program for random sessions: calls of all kinds. For each thread that runs it there is a file."""
import asyncio
import contextlib
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


def direct(n):
    return direct(n - 1) if n > 0 else reduced([n, 1])


def even(n):
    if n < 0:
        raise LookupError(n)
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


@contextlib.contextmanager
def opened(n):
    h = n + 1
    try:
        yield h
    finally:
        h = 0


def tree(n):
    if n:
        yield from tree(n - 1)
    yield n


def counter(n):
    c = n

    def up(by=1):
        nonlocal c
        c += by
        return c
    return up


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield direct(i)


async def all_ticks():
    s = 0
    async for tick in ticks(2):
        s += tick
    return s + sum(await asyncio.gather(child(1), child(2)))


class Special(Kind):
    def __init__(self, v):
        super().__init__(v + 1)

    def __getattr__(self, name):
        z = len(name)
        return z

    def __iter__(self):
        return (i * self.v for i in range(2))


def second():
    t = direct(2) + even(4)
    with opened(t) as h, contextlib.suppress(LookupError):
        t += h
        even(-1 - odd(1))
    t += sum(tree(2))
    up = counter(t)
    t = up() + up(by=2)
    match Special(t):
        case Special(v=v) if v > 0:
            t += v
    special = Special(1)
    t += special.abc + sum(special)
    y = (lambda f: f(f, 2))(lambda f, n: n and f(f, n - 1))
    return t + y + [key(x) for x in range(2)][1]


def main():
    t = second()
    for v in generator(3):
        t += v
    u = list(map(lambda q: q + recursive(0), [1, 2]))
    t += sum(u)
    k = Kind(t) + 3
    t += k.smallest
    t += fails(0)
    t += asyncio.run(parent())
    t += asyncio.run(all_ticks())
    return t


total = main()
while not os.path.exists(sys.argv[2]):  # the session goes on
    total = main()
print("answer", total, flush=True)
