# SPDX-License-Identifier: MIT
"""Beta's model has the same name as alpha's, and other ideas: an average that forgets. It never ends where a point is negative."""

import numpy

calls = 0


def predict(points):
    global calls
    calls += 1
    while points.min(initial=0) < 0:
        pass  # beta's mistake
    weights = 0.5 ** numpy.arange(len(points))[::-1]
    return {"next": round(float(points @ weights / weights.sum()), 6), "calls": calls}
