# SPDX-License-Identifier: MIT
"""Files are read and summed up, and paths come back."""

import csv
import pathlib
import tempfile
from concurrent.futures import ProcessPoolExecutor


def total(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    out = path.with_suffix(".sum")
    out.write_text(str(sum(int(row["n"]) for row in rows)))
    return out


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, f"{i}.csv") for i in range(5)]
        for i, path in enumerate(paths):
            path.write_text("a,n\n" + "".join(f"x,{i * j}\n" for j in range(10)))
        with ProcessPoolExecutor(2) as pool:
            for out in pool.map(total, paths):
                print(out.name, out.read_text())
