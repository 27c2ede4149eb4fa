# SPDX-License-Identifier: MIT
"""Workers write into a block of shared memory."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

import numpy as np


def fill(name, i):
    block = shared_memory.SharedMemory(name)
    np.ndarray((4, 10), "int64", buffer=block.buf)[i] = np.arange(10) * i
    block.close()


if __name__ == "__main__":
    block = shared_memory.SharedMemory(create=True, size=320)
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(fill, [block.name] * 4, range(4)))
    print(np.ndarray((4, 10), "int64", buffer=block.buf).sum(axis=1).tolist())
    block.close()
    block.unlink()
