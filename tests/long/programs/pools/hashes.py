# SPDX-License-Identifier: MIT
"""Checksums and compression of blocks of bytes."""

import hashlib
import zlib
from concurrent.futures import ProcessPoolExecutor

DATA = bytes(range(256)) * 4096


def pack(block):
    packed = zlib.compress(block, 6)
    return hashlib.sha256(block).hexdigest()[:16], len(packed), zlib.decompress(packed) == block


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        for line in pool.map(pack, [DATA[i:i + 300_000] for i in range(0, len(DATA), 300_000)]):
            print(*line)
