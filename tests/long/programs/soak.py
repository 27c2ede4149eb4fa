# SPDX-License-Identifier: MIT
"""Import three things and use them; which ones says the number in the first argument. Run by tests/hosts/soak.c. With
WATCHED in the environment (tests/long/watched.py) three of more: what programs have in common of the process."""

import os
import random
import sys


def use_numpy():
    import numpy
    assert int((numpy.arange(100).reshape(10, 10) @ numpy.eye(10, dtype=int)).sum()) == 4950


def use_ssl():
    import ssl
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ours, theirs, server_hostname="gorgon.test")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        assert theirs.pending > 100


def use_sqlite3():
    import sqlite3
    base = sqlite3.connect(":memory:")
    base.create_function("twice", 1, lambda x: 2 * x)
    assert base.execute("select twice(21)").fetchone() == (42,)
    base.close()


def use_ctypes():
    import ctypes
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 5)(3, 1, 5, 2, 4)
    ctypes.CDLL(None).qsort(numbers, 5, 4, compare(lambda a, b: a[0] - b[0]))
    assert list(numbers) == [1, 2, 3, 4, 5]


def use_json():
    import json
    assert json.loads(json.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}


def use_decimal():
    import decimal
    assert str(decimal.Decimal(1) / decimal.Decimal(7)) == "0.1428571428571428571428571429"


def use_threads():
    import threading
    seen = []
    threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0, 1, 2, 3]


def use_compression():
    import bz2
    import lzma
    import zlib
    for module in (bz2, lzma, zlib):
        assert module.decompress(module.compress(b"text" * 1000)) == b"text" * 1000


def use_expat():
    from xml.etree import ElementTree
    assert ElementTree.fromstring("<a><b>1</b></a>").findtext("b") == "1"


def use_failed_import():
    try:
        import no_such_module  # noqa: F401
    except ImportError:
        return
    raise AssertionError("it was imported")


def use_shared_array():
    import array
    import gorgon
    name = f"soak {gorgon.interpreter}"
    gorgon.share(array.array("d", range(100)), name, copy=True)
    assert sum(memoryview(gorgon.receive(name))) == 4950
    gorgon.withdraw(name)


def use_fork():
    pid = os.fork()
    if not pid:
        os._exit(sum(range(10)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 45


def use_program():
    import subprocess
    assert subprocess.run(["/bin/echo", "text"], stdout=subprocess.PIPE, check=True).stdout == b"text\n"


def use_lock():
    import fcntl
    import tempfile
    with tempfile.TemporaryFile() as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        file.write(b"1")
        fcntl.lockf(file, fcntl.LOCK_UN)


def use_interrupt():
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background programs ignore the signal, and Python leaves that
    try:
        signal.raise_signal(signal.SIGINT)
        while True:
            pass
    except KeyboardInterrupt:
        return


COMMON = [use_shared_array, use_fork, use_program, use_lock, use_interrupt]
PARTS = [use_numpy, use_ssl, use_sqlite3, use_ctypes, use_json, use_decimal, use_threads, use_compression, use_expat,
         use_failed_import] + (COMMON if "WATCHED" in os.environ else [])
random.seed(int(sys.argv[1]))
for part in random.sample(PARTS, 3):
    part()
if random.random() < 0.25:
    sys.exit(0)
