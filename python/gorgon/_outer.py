# SPDX-License-Identifier: MIT
"""Lists and sets of the program that functions within others refer to, such as `results` here:

    def main():
        results = []
        def work(item):
            results.append(item * 2)

A call has a copy of each. When the call ends, what it has put at the end of a list, or into a set, is put into the program's,
before the future has its result. What else a call does to them stays in its copies: items that are replaced or taken out, and
entries of dicts, would undo what other calls have done meanwhile. Both sides run this file."""

import itertools
import operator

# --- in the host --------------------------------------------------------------------------------------------------

numbers = itertools.count()


def is_direct(function):
    """Whether it is no method: a worker fills a class only once."""
    return function.__qualname__.rpartition(".")[0].endswith("<locals>")


def lend(contents, lent):
    """Of a cell, (value,) or (), with a number if a call may add to the value; lent is {number: value}."""
    if not contents or type(contents[0]) not in (list, set):
        return contents
    number = next((number for number, value in lent.items() if value is contents[0]), None)
    if number is None:
        number = next(numbers)
        lent[number] = contents[0]
    return contents[0], number


def take(additions, lent):
    for number, items in additions:
        mine = lent[number]
        if type(mine) is list:
            mine.extend(items)
        else:
            mine.update(items)


# --- in a worker --------------------------------------------------------------------------------------------------

arrived = {}  # copies by number, of the call that is being loaded


def begin():
    """What a call is about to work with, and what is in it."""
    loans = [(number, value, value.copy()) for number, value in arrived.items()]
    arrived.clear()
    return loans


def additions(loans):
    found = []
    for number, value, before in loans:
        if type(value) is set:
            items = value - before
        elif len(value) > len(before) and all(map(operator.is_, before, value)):
            items = value[len(before):]
        else:
            items = None
        if items:
            found.append((number, items))
    return found
