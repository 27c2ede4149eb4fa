# SPDX-License-Identifier: MIT
"""What the programs of this folder share: a round starts in all interpreters at once.

Each program is run by `gorgon run -n N --repeat R`. begin() is its first line: it waits
for the other interpreters of the round, and one of them prints what the process holds
while none has imported anything yet. done() prints that this interpreter's work was right.

environment: MEET, an empty folder of the process's own; COUNT, the interpreters of a round."""

import os
import time

import gorgon

COUNT = int(os.environ["COUNT"])
ROUND, PLACE = divmod(gorgon.interpreter, COUNT)


def resources():
    """(resident KiB, mappings, descriptors) of the process."""
    with open("/proc/self/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    with open("/proc/self/maps") as file:
        mappings = sum(1 for _ in file)
    return resident, mappings, len(os.listdir("/proc/self/fd"))


def meet(name):
    """Return when every interpreter of the round has come here."""
    folder = os.path.join(os.environ["MEET"], f"{name}-{ROUND}")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, str(PLACE)), "x"):
        pass
    while len(os.listdir(folder)) < COUNT:
        time.sleep(0.005)


def begin():
    meet("begin")
    if PLACE == 0:
        print("holds", ROUND, *resources(), flush=True)
    meet("go")


def done():
    print("done", ROUND, PLACE, flush=True)
