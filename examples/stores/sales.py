# SPDX-License-Identifier: MIT
"""What the service computes. Interpreters import this module alone: they need no FastAPI."""

import random
import statistics

import gorgon


def interval(days, draws):
    """The interval that has the mean of a store's days in it, nine times of ten: from days that are drawn again and again."""
    if draws < 20:
        raise ValueError(f"draws must be 20 or more, found {draws}")
    draw, values = random.Random(1), days.tolist()
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(draws))
    return means[draws // 20], means[-1 - draws // 20]


def report(sales, draws):
    """The intervals of all stores; progress() raises an exception when the job was stopped."""
    intervals = []
    for days in sales:
        intervals.append(interval(days, draws))
        gorgon.progress(len(intervals))
    return intervals
