# SPDX-License-Identifier: MIT
"""Groups of a pandas frame."""

from concurrent.futures import ProcessPoolExecutor

import pandas as pd


def summarise(item):
    name, group = item
    return pd.DataFrame({"name": [name], "n": [len(group)], "mean": [group["value"].mean()],
                         "words": ["".join(sorted(set(group["word"])))]})


if __name__ == "__main__":
    frame = pd.DataFrame({"key": [f"k{i % 4}" for i in range(100)], "value": range(100),
                          "word": [chr(97 + i % 7) for i in range(100)]})
    with ProcessPoolExecutor(2) as pool:
        print(pd.concat(pool.map(summarise, frame.groupby("key")), ignore_index=True).to_string())
