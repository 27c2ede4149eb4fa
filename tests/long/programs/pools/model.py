# SPDX-License-Identifier: MIT
"""An initializer leaves a model in a global, which calls use."""

import random
from concurrent.futures import ProcessPoolExecutor

model = None


def load(seed, scale):
    global model
    rng = random.Random(seed)
    model = [scale * rng.random() for _ in range(5)]


def predict(row):
    return round(sum(a * b for a, b in zip(model, row)), 9)


if __name__ == "__main__":
    with ProcessPoolExecutor(2, initializer=load, initargs=(7, 3.0)) as pool:
        print(list(pool.map(predict, [[i, 1, 0, -i, 2] for i in range(8)], chunksize=3)))
    print(model)
