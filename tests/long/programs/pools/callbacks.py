# SPDX-License-Identifier: MIT
"""Callbacks of futures run in this process, and cancelled work does not."""

import os
import threading
import time
from concurrent.futures import ALL_COMPLETED, ProcessPoolExecutor, wait


def slow(x):
    time.sleep(0.05)
    return -x


if __name__ == "__main__":
    told, lock, pid = [], threading.Lock(), os.getpid()

    def tell(future):
        with lock:
            told.append((future.cancelled() or future.result(), os.getpid() == pid))

    with ProcessPoolExecutor(1) as pool:
        futures = [pool.submit(slow, i) for i in range(12)]
        for future in futures:
            future.add_done_callback(tell)
        print(futures[-1].cancel())
        done, rest = wait(futures, return_when=ALL_COMPLETED)
        print(len(done), len(rest))
    print(sorted(told))
