# SPDX-License-Identifier: MIT
"""Futures in a dict, as they complete, with the errors of some."""

from concurrent.futures import ProcessPoolExecutor, as_completed


def parse(text):
    return float(text) / (len(text) - 3)


if __name__ == "__main__":
    with ProcessPoolExecutor(max_workers=2) as executor:
        futures = {executor.submit(parse, text): text for text in ("1.5", "2.25", "ten", "-1")}
        found = {}
        for future in as_completed(futures):
            try:
                found[futures[future]] = future.result()
            except (ValueError, ZeroDivisionError) as error:
                found[futures[future]] = f"{type(error).__name__}: {error}"
        print(sorted(found.items()))
