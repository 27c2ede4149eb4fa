# SPDX-License-Identifier: MIT
"""dask's graphs, with the pool for their scheduler."""

from concurrent.futures import ProcessPoolExecutor

import dask
import dask.array as da


def load(i):
    return list(range(i))


def combine(parts):
    return sum(map(sum, parts))


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        with dask.config.set(scheduler=pool):
            print(dask.delayed(combine)([dask.delayed(load)(i) for i in range(10)]).compute())
            print(int((da.arange(10_000, chunks=1000) ** 2).sum().compute()))
