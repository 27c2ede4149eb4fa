# SPDX-License-Identifier: MIT
"""Child processes as Python's library makes them: multiprocessing with fork, subprocess, pools."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import gorgon
import numpy

context = multiprocessing.get_context("fork")
caught = []
signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))


def trace(n):
    return float(numpy.trace(numpy.eye(n) @ numpy.eye(n)))


def echo(pipe, queue, lock):
    with lock:
        queue.put(("child", pipe.recv()))
    sys.exit(9)


def use_multiprocessing():
    with context.Pool(2) as pool:
        assert pool.map(trace, range(1, 20)) == [float(n) for n in range(1, 20)]
        try:
            pool.apply(int, ("no number",))
            raise AssertionError("no exception came from the pool")
        except ValueError as error:
            assert "no number" in str(error)
    ours, theirs = context.Pipe()
    queue, lock = context.Queue(), context.Lock()
    process = context.Process(target=echo, args=(theirs, queue, lock))
    process.start()
    ours.send([1, 2, 3])
    assert queue.get() == ("child", [1, 2, 3])
    process.join()
    assert process.exitcode == 9
    array = context.Array("d", 10)
    process = context.Process(target=lambda: numpy.frombuffer(array.get_obj()).fill(2.5))
    process.start()
    process.join()
    assert process.exitcode == 0 and list(array) == [2.5] * 10


def use_executor():
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(trace, [3, 4, 5])) == [3.0, 4.0, 5.0]


def use_subprocess():
    assert subprocess.run(["sort"], input="b\na\n", capture_output=True, text=True, check=True).stdout == "a\nb\n"
    code = "import os, sys; print(os.getpid() == os.getsid(0), os.environ['WORD']); sys.exit(5)"
    for extra in ({"start_new_session": True}, {"preexec_fn": os.setsid}):  # vfork(), fork()
        result = subprocess.run([sys.executable, "-c", code], env={"WORD": "w"}, capture_output=True, text=True,
                                check=False, **extra)
        assert (result.stdout, result.stderr, result.returncode) == ("True w\n", "", 5), result
    sleeper = subprocess.Popen(["sleep", "100"])
    sleeper.send_signal(signal.SIGTERM)
    assert sleeper.wait() == -signal.SIGTERM
    try:
        subprocess.run(["sleep", "100"], timeout=0.05, check=False)
        raise AssertionError("no time-out")
    except subprocess.TimeoutExpired:
        pass
    try:
        subprocess.run(["/there/is/none"], check=False)
        raise AssertionError("a missing program was run")
    except FileNotFoundError:
        pass
    with os.popen("echo here") as pipe:
        assert pipe.read() == "here\n"
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 6"], {})
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6


# Several threads make processes at once, as servers do.
errors = []


def guarded(function):
    try:
        function()
    except BaseException as error:
        errors.append(error)


threads = [threading.Thread(target=guarded, args=(use_subprocess,)) for _ in range(2)]
for thread in threads:
    thread.start()
use_multiprocessing()
use_executor()
for thread in threads:
    thread.join()
if errors:
    raise errors[0]
signal.raise_signal(signal.SIGUSR1)  # the handler has survived all of that
assert signal.SIGUSR1 in caught
print("processes", gorgon.interpreter, flush=True)
