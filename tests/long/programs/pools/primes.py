# SPDX-License-Identifier: MIT
"""Which numbers are prime, with map()."""

import math
from concurrent.futures import ProcessPoolExecutor

NUMBERS = [112272535095293, 112582705942171, 115280095190773, 115797848077099, 1099726899285419, 12]


def is_prime(n):
    if n < 2 or n % 2 == 0:
        return n == 2
    return all(n % i for i in range(3, min(math.isqrt(n), 100000) + 1, 2))


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as executor:
        for number, prime in zip(NUMBERS, executor.map(is_prime, NUMBERS)):
            print(f"{number} is prime: {prime}")
