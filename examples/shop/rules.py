# SPDX-License-Identifier: MIT
"""Rules of a shop: decide() answers an order. stock() and take() are functions of the server, in C++."""

import re

import numpy

from shop import stock, take

DISCOUNTS = numpy.array([[1, 0.0], [10, 0.05], [100, 0.2]])  # from how many pieces on
PRICES = {"apple": 0.5, "pear": 0.7}
seen = 0


def decide(order):
    global seen
    seen += 1
    customer, item, count = re.fullmatch(r"(\w+) (\w+) (\d+)", order).groups()
    if item not in PRICES:
        raise LookupError(f"{customer}, we sell no {item}")
    count = min(int(count), stock(item))
    if not take(item, count):
        return f"{customer}: no {item} is left"
    discount = DISCOUNTS[DISCOUNTS[:, 0] <= count][-1, 1]
    return f"{customer}: {count} of {item} for {PRICES[item] * count * (1 - discount):.2f}"
