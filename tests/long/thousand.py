#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thousand interpreters with numpy alive at once, under the default vm.max_map_count.

Each says that it has numpy, waits until all have, computes something of its own and
prints it. N=... in the environment changes the number."""

import os
import re
import subprocess
import sys
import tempfile
import threading

from report import Report
import harness

N = int(os.environ.get("N", "1000"))

PROGRAM = """
import os, sys
import gorgon
ready, go = (os.open(path, flags) for path, flags in zip(sys.argv[1:], (os.O_WRONLY, os.O_RDONLY)))
try:
    import numpy
    os.write(ready, b"x")
except BaseException:
    os.write(ready, b"!")
    raise
os.read(go, 1)
n = gorgon.interpreter
print(f"answer {n} {int((numpy.arange(n + 1) @ numpy.ones(n + 1, dtype=int)))}", flush=True)
"""


def limit():
    with open("/proc/sys/vm/max_map_count") as file:
        return int(file.read())


def mappings(pid):
    with open(f"/proc/{pid}/maps") as file:
        return sum(1 for _ in file)


def memory(pid):
    """Pages of the process alone, in MiB: what files and copies share counts once for all."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"Pss:\s+(\d+)", file.read()).group(1)) // 1024


def writable_and_executable(pid):
    with open(f"/proc/{pid}/maps") as file:
        return sum(" rwx" in line for line in file)


def wait_for(fd, count, report, process):
    """How many interpreters say that they have numpy, until all have said something."""
    said = b""
    while len(said) < count and process.poll() is None:
        said += os.read(fd, count - len(said))
        report.progress(len(said), count, "interpreters have numpy")
    return said.count(b"x")


def main():
    report = Report(f"{N} interpreters with numpy at once")
    with tempfile.TemporaryDirectory() as folder:
        program, ready, go = (os.path.join(folder, name) for name in ("program.py", "ready", "go"))
        with open(program, "w") as file:
            file.write(PROGRAM)
        os.mkfifo(ready)
        os.mkfifo(go)
        ready_fd, go_fd = os.open(ready, os.O_RDWR), os.open(go, os.O_RDWR)
        process = subprocess.Popen([harness.GORGON, "run", "-n", str(N), program, ready, go], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = []
        reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
        reader.start()
        # If the process dies nobody writes any more: this gives the reader below an end.
        watcher = threading.Thread(target=lambda: (process.wait(), os.write(ready_fd, b"\0" * N)), daemon=True)
        watcher.start()
        got = wait_for(ready_fd, N, report, process)
        alive = process.poll() is None
        report.check("alive at once", alive and got == N, N, got if alive else f"ended with {process.returncode}",
                     "".join(output)[-2000:])
        if alive:
            used, most = mappings(process.pid), limit()
            report.check("mappings", used < most, f"below vm.max_map_count = {most}", f"{used}, {used / N:.1f} each")
            report.check("mappings that are writable and executable", not writable_and_executable(process.pid), 0,
                         writable_and_executable(process.pid))
            used = memory(process.pid)
            report.check("memory (Pss)", used > 0, "measured", f"{used} MiB, {used / N:.1f} each")
            os.write(go_fd, b"g" * N)
        status = process.wait()
        reader.join()
        answers = dict(re.findall(r"answer (\d+) (\d+)", output[0]))
        right = sum(answers.get(str(n)) == str(n * (n + 1) // 2) for n in range(N))
        report.check("right answers", right == N, N, right, output[0][-2000:])
        report.check("exit status", status == 0, 0, status, output[0][-2000:])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
