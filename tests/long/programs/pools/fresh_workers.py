# SPDX-License-Identifier: MIT
"""A worker has two calls, then another one has its place."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

seen = []


def leak(x):
    seen.append(x)
    return len(seen)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    with ProcessPoolExecutor(1, max_tasks_per_child=2) as pool:
        print([pool.submit(leak, i).result() for i in range(6)], seen)
