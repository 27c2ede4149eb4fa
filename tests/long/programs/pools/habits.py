# SPDX-License-Identifier: MIT
"""What scripts and notebooks refer to from their functions: submodules, streams, names in a query, tables of functions, functions of
several types, decorators with state, new types."""

import argparse
import collections
import contextlib
import functools
import operator
import re
import typing
import urllib.request
import xml.etree.ElementTree
from concurrent.futures import ProcessPoolExecutor
from sys import stdout

import numpy
import pandas

LIMIT = 2
FRAME = pandas.DataFrame({"n": [1, 2, 3, 4]})
ARGUMENTS = argparse.Namespace(factor=3)
DIGITS = re.compile(r"\d+")
COUNTS = collections.defaultdict(lambda: 5)
UserId = typing.NewType("UserId", int)


@functools.singledispatch
def kind(value):
    return "something"


@kind.register
def _(value: int):
    return f"number, in a list {kind([value])}"


@kind.register(list)
def _(value):
    return "list"


@contextlib.contextmanager
def loud(text):
    yield text.upper()


def counted(function):
    @functools.wraps(function)
    def inner(*args):
        inner.calls += 1
        return function(*args), inner.calls
    inner.calls = 0
    return inner


@counted
def work(value):
    return value * ARGUMENTS.factor


def double(value):
    return value * 2


TABLE = {"double": double, "square": lambda value: value ** 2}
doubled = numpy.vectorize(double)


class Sums:
    def both(self, first, second):
        return first + second

    one_more = functools.partialmethod(both, 1)


def query(frame):
    return len(frame.query("n > @LIMIT")), len(FRAME.query("n <= @LIMIT"))


def parse(url):
    return urllib.request.Request(url).host, xml.etree.ElementTree.fromstring("<a><b/></a>").find("b").tag


def say(text):
    with loud(text) as shout:
        print(shout, file=stdout, flush=True)


def mix(value):
    return kind(value), TABLE["square"](3), COUNTS["none"], DIGITS.findall("a12b3"), UserId(7), doubled([1, 2]).tolist()


def main():
    with ProcessPoolExecutor(1) as pool:
        print(pool.submit(query, FRAME).result(), pool.submit(parse, "http://example.org/").result())
        pool.submit(say, "hello").result()
        print(*pool.map(mix, [1, [], "x"]), sep="\n")
        print(*map(pool.submit(work, 2).result().__getitem__, (0, 1)), pool.submit(work, 3).result(), work.calls)
        print(pool.submit(TABLE["double"], 4).result(), pool.submit(kind, 1).result(), pool.submit(Sums().one_more, 2).result())
        print(pool.submit(operator.methodcaller("both", 1, 2), Sums()).result())


if __name__ == "__main__":
    main()
