# SPDX-License-Identifier: MIT
"""Calls sort and change their own copies of arrays. Options: copy_arguments=True"""

from concurrent.futures import ProcessPoolExecutor

import numpy as np


def normalise(a):
    a.sort()
    a -= a[0]
    a /= a[-1]
    return a


if __name__ == "__main__":
    arrays = [np.random.default_rng(i).random(1000) for i in range(4)]
    before = [a.copy() for a in arrays]
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(normalise, arrays))
    print([(float(r[0]), float(r[-1]), round(float(r.mean()), 9)) for r in results])
    print([bool((a == b).all()) for a, b in zip(arrays, before)])
