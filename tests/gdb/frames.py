# SPDX-License-Identifier: MIT
"""What the interpreters of the sessions about Python frames run: frames of every kind above a
call of getpgrp(), where the sessions stop. Each prints its own frames before."""

import os
import sys
import threading

import gorgon


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")  # one write, because a debugger prints meanwhile
    sys.stdout.flush()


def leaf(_):
    return None


def ask(what):
    frame, found = sys._getframe(1), []
    while frame:
        found.append(f"{frame.f_lineno}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    say("expect", gorgon.interpreter, threading.get_native_id(), *found)
    return what


def grüße(n):
    if n:
        return grüße(n - 1)
    return ask(os.getpgrp)(), list(map(leaf, [1]))


def 名前():
    return [
        grüße(2)
        for _ in range(1)
    ]


class Shape:
    def area(self):
        return sorted([1], key=lambda number: 名前())


def generator():
    yield Shape().area()


list(generator())
thread = threading.Thread(target=lambda: next(generator()))
thread.start()
thread.join()
