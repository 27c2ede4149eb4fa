# SPDX-License-Identifier: MIT
"""greenlet: switches of the C stack, exceptions through them, in the main and in other threads."""

import rounds

rounds.begin()

import threading  # noqa: E402

from greenlet import GreenletExit, getcurrent, greenlet  # noqa: E402


def ping_pong():
    """Two greenlets hand a number to and fro."""
    def add(value):
        while True:
            value = other.switch(value + 1)

    def other_add(value):
        while value < 2000:
            value = adder.switch(value + 1)
        return value

    adder, other = greenlet(add), greenlet(other_add)
    assert adder.switch(0) == 2001


def exceptions():
    def fail():
        try:
            getcurrent().parent.switch("ready")
        except KeyError as error:
            raise LookupError(error.args[0] + 1)

    child = greenlet(fail)
    assert child.switch() == "ready"
    try:
        child.throw(KeyError(41))
        raise AssertionError("no exception came out of the greenlet")
    except LookupError as error:
        assert error.args == (42,)
    assert child.dead


def deep(n):
    """A switch from below many frames."""
    return deep(n - 1) if n else getcurrent().parent.switch("deep")


def all_of_it(results):
    ping_pong()
    exceptions()
    child = greenlet(deep)
    assert child.switch(200) == "deep" and child.switch("up") == "up"
    unfinished = greenlet(deep)
    unfinished.switch(10)
    assert isinstance(unfinished.throw(GreenletExit), GreenletExit)
    results.append("ok")


finished = []
all_of_it(finished)
threads = [threading.Thread(target=all_of_it, args=(finished,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert finished == ["ok"] * 4
rounds.done()
