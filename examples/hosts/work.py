# SPDX-License-Identifier: MIT
"""What the hosts in Go, Java and Rust call in each of their interpreters."""

import numpy


def sum_of_squares(n):
    return int((numpy.arange(n) ** 2).sum())


def divide(n):
    return n // 0


def run_away(n):
    while True:
        pass


def eat(n):
    kept = []
    while True:
        kept.append(bytes(1000000))
