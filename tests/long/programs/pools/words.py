# SPDX-License-Identifier: MIT
"""Words of many texts, counted by parts and added up."""

import collections
import re
from concurrent.futures import ProcessPoolExecutor

TEXTS = [f"the quick brown fox {i} jumps over the lazy dog {i % 3}" for i in range(300)]


def count(texts):
    return collections.Counter(word for text in texts for word in re.findall(r"\w+", text))


if __name__ == "__main__":
    with ProcessPoolExecutor(3) as pool:
        parts = pool.map(count, [TEXTS[i::3] for i in range(3)])
        print(sorted(sum(parts, collections.Counter()).most_common(9)))
