# SPDX-License-Identifier: MIT
"""What each thread of host.c runs: in one Python, where the host says `me`, or in an interpreter of its own."""

import sys
import time

sys.path.insert(0, sys.argv[1])
import cext  # noqa: E402
import cxxext  # noqa: E402

if "me" not in globals():
    me = int(sys.argv[2])


def late():
    import lateext
    return lateext.work(7)


def compute(number, name):
    local = [number, name, {"key": number}]
    cext.work(number, name)
    cxxext.work(number)
    time.sleep(0)
    local.insert(0, None)
    return local


while (number := cext.begin(me)) >= 0:
    if number == 500:
        late()
    compute(number, f"turn{number}")
    cext.end()
