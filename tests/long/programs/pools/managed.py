# SPDX-License-Identifier: MIT
"""A manager's dict and lock are shared by all calls."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def add(totals, lock, name, n):
    with lock:
        totals[name] = totals.get(name, 0) + n


if __name__ == "__main__":
    with multiprocessing.Manager() as manager, ProcessPoolExecutor(2) as pool:
        totals, lock = manager.dict(), manager.Lock()
        for future in [pool.submit(add, totals, lock, "ab"[i % 2], i) for i in range(10)]:
            future.result()
        print(sorted(totals.items()))
