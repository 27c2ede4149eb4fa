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


def logged(function):  # once
    @functools.wraps(function)
    def inner(*args, **named):
        result = function(*args, **named)
        return result
    return inner  # once


class Field:
    def __set_name__(self, owner, name):
        self.name = "_" + name  # once

    def __get__(self, instance, owner):
        return getattr(instance, self.name, 0) if instance else self

    def __set__(self, instance, value):
        v = key(value)
        setattr(instance, self.name, v)


class Record:
    size = Field()  # once
    ready = [add(i, 1) for i in range(2)]  # once

    def __init_subclass__(cls, more=0):
        cls.more = more

    def __enter__(self):
        self.size = 2
        return self

    def __exit__(self, kind, value, trace):
        n = self.size
        return kind is KeyError and n < 0

    def __call__(self, n):
        return n - self.size

    def __format__(self, spec):
        n = len(spec)
        return str(n + self.size)

    def __del__(self):
        n = 1
        add(n, n)


@logged
def parts(a, b=2, *rest):
    total = add(
        key(a),
        add(
            b,
            len(rest),
        ),
    )
    return (total
            + key(b)
            - a)


def loops(n):
    s = 0
    while n:
        n -= 1
        try:
            if n == 1:
                continue
            s += recursive(0)
            if s > 100: break
        finally:
            s += 1
    else:
        s += key(s)
    for _ in (): s += 1
    return s


def cleans(n):
    try:
        if (m := key(n)) < 0:
            return m
        raise ValueError(m)
    except ValueError as error:
        raise LookupError(n) from error
    finally:
        key(0)


def takes():
    n = 0
    try:
        while True:
            try:
                n += yield n
            except KeyError:
                n += recursive(0)
    finally:
        n = key(n)


def driven():
    g = takes()
    s = next(g) + g.send(3)
    s += g.throw(KeyError("x"))
    g.close()
    left = takes()
    s += next(left)
    del left
    try:
        even(-1)
    except LookupError as error:
        s += error.args[0]
    try:
        raise ExceptionGroup("g", [KeyError(1), ValueError(2)])
    except* KeyError as group:
        s += len(group.exceptions)
    except* ValueError:
        s += 1
    return s


@functools.lru_cache(maxsize=1)
def cached(n):
    return n and cached(n - 1) + 1


def by_hand():
    c = child(1)
    s = 0
    try:
        while True:
            c.send(None)
            s += 1
    except StopIteration as end:
        return s + end.value


def third():
    t = parts(1) + parts(
        2,
        *tree(1),
    )
    t += loops(3)
    for n in 1, -1:
        try:
            t += cleans(n)
        except LookupError:
            t += 1
    cached.cache_clear()
    t += driven() + cached(2) + by_hand()

    class Sub(Record, more=key(1)):
        extra = key(2)
    with Record() as record, Sub():
        raise KeyError if record.size < 0 else add(1, 2)
    t += Sub.more + Sub.extra + int(f"{record:abc}{key(-1)}") + record(n=1)
    del record
    t += sum(x for y in [[key(a) for a in range(b)] for b in range(3)] for x in y if (z := x) < 1)
    t += [*map(key, {k: key(k) for k in range(2)}.values())][0]
    try:
        assert z > 5, key(z)
    except AssertionError:
        t += 1
    t += (1 if key(t) > 5
          else add(t,
                   1))
    t += sorted([1, 3, 2], key=functools.cmp_to_key(lambda a, b: key(a - b)))[0]
    return t


def main():
    t = second()
    t += third()
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
