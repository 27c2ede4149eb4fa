# SPDX-License-Identifier: MIT
"""Fork from this interpreter while it and the others are busy.

usage: gorgon run -n 4 forks.py FORKS TIMEOUT

A thread keeps numpy working all the time. Each child imports something that its parent has
not, computes, and ends in one of four ways, in turn; its exit status says which child it was.
A child that has not ended after TIMEOUT seconds is shown with gdb and killed."""

import os
import subprocess
import sys
import threading
import time

import gorgon
import numpy

FORKS, TIMEOUT = int(sys.argv[1]), float(sys.argv[2])
IMPORTS = ["decimal", "sqlite3", "ctypes", "xml.etree.ElementTree", "ssl", "asyncio", "lzma", "numpy.fft"]
stop = threading.Event()


def busy():
    """Keep numpy working, with BLAS and without."""
    matrix = numpy.arange(40_000.0).reshape(200, 200)
    while not stop.is_set():
        product = matrix @ matrix
        assert product[0, 0] == float(numpy.dot(matrix[0], matrix[:, 0]))
        numpy.sort(product, axis=None)
        " ".join(str(number) for number in product[0].tolist())


def work(number):
    """What every child does."""
    __import__(IMPORTS[number % len(IMPORTS)])
    square = numpy.arange(10_000.0).reshape(100, 100)
    assert (square @ numpy.eye(100) == square).all()
    results = []
    thread = threading.Thread(target=lambda: results.append(sum(range(1000))))
    thread.start()
    thread.join()
    assert results == [499500]


def expected_status(number):
    return [3 + number % 100, 103 + number % 100, 0, 1][number % 4]


def child(number):
    """End a child. When this returns, the child goes on to the end of the program, without an error."""
    work(number)
    if number % 4 == 0:
        os._exit(expected_status(number))
    if number % 4 == 1:
        sys.exit(expected_status(number))
    if number % 4 == 3:
        raise ZeroDivisionError("expected")


def wait(pid):
    """Exit status, or None: it hangs."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def show_hung(pid):
    shown = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt 40",
                            "-p", str(pid)], capture_output=True, text=True, check=False)
    print(f"hung child {pid}:\n{shown.stdout}{shown.stderr}", flush=True)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def parent():
    """Fork one child after the other; returns False in a child that is to go on."""
    right = 0
    for number in range(FORKS):
        pid = os.fork()
        if not pid:
            child(number)
            return False
        status = wait(pid)
        if status is None:
            show_hung(pid)
        elif status != expected_status(number):
            print(f"child {number}: status {status}, expected {expected_status(number)}", flush=True)
        else:
            right += 1
    print("forks", gorgon.interpreter, right, flush=True)
    return True


worker = threading.Thread(target=busy)
worker.start()
try:
    if parent():
        stop.set()
        worker.join()
finally:
    stop.set()
