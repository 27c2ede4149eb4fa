# SPDX-License-Identifier: MIT
"""Pi, with numpy's generators, which have a seed each."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np


def hits(seed, n=200_000):
    rng = np.random.default_rng(seed)
    x, y = rng.random(n), rng.random(n)
    return int(np.count_nonzero(x * x + y * y < 1))


if __name__ == "__main__":
    seeds = np.random.SeedSequence(42).spawn(8)
    with ProcessPoolExecutor(4) as pool:
        counts = list(pool.map(hits, seeds))
    print(counts, 4 * sum(counts) / (8 * 200_000))
