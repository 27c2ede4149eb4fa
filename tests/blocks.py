# SPDX-License-Identifier: MIT
"""33 interpreters of which the first 32 are a block: zones side by side that one symfile describes, once all
have loaded the same and are quiet. The last one looks after that: something has to change, for then the others are
looked at. A debugger makes all so slow that they may be quiet before their imports, too, when the last one is created:
then there is one for what they had by then, and one for the rest. For the sessions of both debuggers."""

import os

import harness

COUNT = 33
STOP = "Py_SetRecursionLimit"  # exported: both debuggers have its name

JOINT = (1, 2)  # symfiles of the block

PROGRAM = """
import gorgon, os, sys, time
folder, count = {folder!r}, {count}
def tell(what):
    open(os.path.join(folder, what), "w").close()
def wait_for(*names):
    while not all(os.path.exists(os.path.join(folder, name)) for name in names):
        time.sleep(0.01)
sys.setrecursionlimit(1000)
import _queue, termios
tell(str(gorgon.interpreter))
if gorgon.interpreter == count - 1:
    wait_for(*map(str, range(count)))
    time.sleep(2)
    import mmap
    tell("done")
wait_for("done")
sys.setrecursionlimit(1000)
print("ready", flush=True)
if {wait}:
    time.sleep(600)
"""


def host(folder, wait):
    """The command that runs them."""
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(PROGRAM.format(folder=folder, count=COUNT, wait=wait))
    return [harness.HOST, "-l", "-n", str(COUNT), f"exec(compile(open('{path}').read(), '{path}', 'exec'))"]


def interpreters(addresses, pcs):
    """In which interpreters these are: each has a zone of 4 GiB."""
    zones = {address >> 32: i for i, address in addresses.items()}
    return [zones[pc >> 32] for pc in pcs]
