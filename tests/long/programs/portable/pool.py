# SPDX-License-Identifier: MIT
"""An executor whose workers are interpreters, with queues besides: what tutorials of CPython 3.14 show. Prints:

    [0, 1, 5, 14, 30, 55]
    14 55
    ZeroDivisionError division by zero
    begun [1, 1]
    (7, 3)
    ['SPAM', 'EGGS']
"""

import functools
from concurrent.futures import InterpreterPoolExecutor
from concurrent.futures import as_completed

from concurrent import interpreters

state = []


def squares(count):
    from sums import norm
    return norm(range(count))


def divide(n):
    return 1 / n


def begin(queue):
    state.append(queue)
    queue.put(len(state))


def take(queue, _):
    number, more = queue.get()
    return number, more


def look(_):
    return len(state) + 2


if __name__ == "__main__":
    with InterpreterPoolExecutor(max_workers=3) as pool:
        print(list(pool.map(squares, range(1, 7))))
        print(*sorted(future.result() for future in as_completed([pool.submit(squares, 4), pool.submit(squares, 6)])))
        try:
            pool.submit(divide, 0).result()
        except ZeroDivisionError as error:
            print(type(error).__name__, error)
    begun, numbers = interpreters.create_queue(), interpreters.create_queue()
    with InterpreterPoolExecutor(2, initializer=begin, initargs=(begun,)) as pool:
        list(pool.map(look, range(50)))
        started = [begun.get(timeout=60)]
        while begun.qsize():
            started.append(begun.get())
        print("begun", (started * 2)[:2])
        for number in range(8):
            numbers.put((number, 3))
        print(sorted(pool.map(functools.partial(take, numbers), range(8)))[-1])
        print(list(pool.map(str.upper, ["spam", "eggs"])))
