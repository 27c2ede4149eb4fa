# SPDX-License-Identifier: MIT
"""Which programs of units the words of `make check-unit TESTS=...` may mean: standard input has the sources, one on each line;
the chosen ones are printed. A word is a part of the name of a file or of a case, or FILE:CASE. The names of some cases are put
together by macros: when no source has a word, it may mean all."""

import re
import sys


def choose(paths, words):
    texts = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts[path] = f"{path}\n{file.read()}"
    chosen = set()
    for word in words or [""]:
        chosen.update([path for path in paths if all(part in texts[path] for part in re.split(":+", word))] or paths)
    return [path for path in paths if path in chosen]


if __name__ == "__main__":
    print(*choose(sys.stdin.read().split(), sys.argv[1:]))
