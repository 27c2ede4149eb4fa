# SPDX-License-Identifier: MIT
"""tqdm around map(), in chunks."""

import io
from concurrent.futures import ProcessPoolExecutor

from tqdm import tqdm


def cube(x):
    return x ** 3


if __name__ == "__main__":
    items, out = range(50), io.StringIO()
    with ProcessPoolExecutor(2) as pool:
        results = list(tqdm(pool.map(cube, items, chunksize=10), total=len(items), file=out))
    print(sum(results), "50/50" in out.getvalue())
