# SPDX-License-Identifier: MIT
"""Alpha's model: a straight line through the points, and what it says of the next one."""

import numpy

calls = 0


def predict(points):
    global calls
    calls += 1
    slope, height = numpy.polyfit(numpy.arange(len(points)), points, 1)
    return {"next": round(float(height + slope * len(points)), 6), "calls": calls}
