# SPDX-License-Identifier: MIT
"""A matrix by blocks of rows."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np


def multiply(b, rows):
    return rows @ b


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (200, 60)), rng.integers(0, 9, (60, 80))
    with ProcessPoolExecutor(3) as pool:
        c = np.vstack(list(pool.map(partial(multiply, b), np.array_split(a, 5))))
    print(c.shape, bool((c == a @ b).all()), int(c.sum()))
