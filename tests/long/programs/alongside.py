# SPDX-License-Identifier: MIT
"""Run a program, wait until all the interpreters of the run have, and say so.

usage: alongside.py FOLDER COUNT PROGRAM

FOLDER is empty. Nobody ends before COUNT have done their work, so that as many libraries
and objects are there at once; an interpreter whose program fails lets the others go."""

import os
import runpy
import sys
import tempfile
import time

folder, count, program = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
sys.argv[:] = [program]
try:
    runpy.run_path(program, run_name="__main__")
finally:
    os.close(tempfile.mkstemp(dir=folder)[0])
    while len(os.listdir(folder)) < count:
        time.sleep(0.005)
print("alongside: done", flush=True)
