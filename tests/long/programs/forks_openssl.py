# SPDX-License-Identifier: MIT
"""Fork while other interpreters are in OpenSSL, whose locks a fork does not reset.

usage: gorgon run -n 3 forks_openssl.py SECONDS

Interpreter 0 forks; its children hash. The others look for algorithms that do not exist, which
takes the lock that every look-up takes."""

import hashlib
import os
import sys
import time

import gorgon

end = time.monotonic() + float(sys.argv[1])


def look_for(name):
    try:
        hashlib.new(name)
        raise AssertionError(f"there is {name}")
    except ValueError:
        pass


def hangs():
    """Whether a child that hashes has not ended within three seconds."""
    pid = os.fork()
    if not pid:
        look_for("nothing")
        os._exit(0)
    limit = time.monotonic() + 3
    while time.monotonic() < limit:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return True


if gorgon.interpreter:
    while time.monotonic() < end:
        look_for(f"none-{time.monotonic_ns()}")
else:
    outcomes = []
    while time.monotonic() < end and sum(outcomes) < 3:
        outcomes.append(hangs())
    print("openssl", len(outcomes), sum(outcomes), flush=True)
