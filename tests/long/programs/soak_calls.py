# SPDX-License-Identifier: MIT
"""What the threads of `soak -c` call."""

import time


def double(values):
    return [value * 2 for value in values]


def pause():
    time.sleep(0.01)


def work():
    return sum(i * i for i in range(20000))


def grow():
    cycle = [bytes(100000) for _ in range(20)]
    cycle.append(cycle)
