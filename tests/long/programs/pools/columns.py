# SPDX-License-Identifier: MIT
"""pyarrow tables cross, and are computed with."""

from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc


def most(table):
    return table.filter(pc.greater(table["n"], 5)).group_by("key").aggregate([("n", "sum")]).sort_by("key")


if __name__ == "__main__":
    table = pa.table({"key": [f"k{i % 3}" for i in range(30)], "n": list(range(30))})
    with ProcessPoolExecutor(2) as pool:
        for part in pool.map(most, [table.slice(0, 15), table.slice(15)]):
            print(part.to_pydict())
