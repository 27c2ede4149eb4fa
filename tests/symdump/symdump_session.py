# SPDX-License-Identifier: MIT
"""What the tests of gorgon-symdump share: a host to look at, its cores, and its mappings."""

import functools
import glob
import json
import os
import re
import tempfile
import time

import harness

COUNT = 3

# Limits belong to the process: any interpreter may set them. All wait in C called by Python called
# by C: sorted() calls key(), which sleeps.
PROGRAM = """
import numpy, resource, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
def key(item):
    print("ready", flush=True)
    time.sleep(600)
sorted([1], key=key)
"""


def start_host(folder, program=PROGRAM, count=COUNT, asleep=COUNT):
    return harness.Background(harness.HOST, "-n", count, program, cwd=folder,
                              until=rf"(?s)(ready.*){{{count}}}", asleep=asleep)


def symdump(*words, **kwargs):
    return harness.run(harness.SYMDUMP, *words, **kwargs)


def output(*words):
    """What gorgon-symdump prints; it must succeed and complain of nothing."""
    result = symdump(*words)
    assert (result.returncode, result.stderr) == (0, ""), (words, result)
    return result.stdout


def dump(*words):
    return json.loads(output(*words, "--json"))


class Mapping:
    def __init__(self, line):
        fields = line.split(maxsplit=5)
        self.start, self.end = (int(a, 16) for a in fields[0].split("-"))
        self.offset = int(fields[2], 16)
        self.executable = "x" in fields[1]
        self.path = fields[5].strip() if len(fields) > 5 else ""


def mappings(pid):
    with open(f"/proc/{pid}/maps") as file:
        return [Mapping(line) for line in file]


def kernel_writes_cores_into_files():
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read()
    return not pattern.startswith(("|", "/"))


class Scene:
    """A host whose interpreters run numpy: live, and its cores by gcore and the kernel."""

    def __init__(self, program=PROGRAM, count=COUNT):
        self.folder = tempfile.TemporaryDirectory()
        self.host = start_host(self.folder.name, program, count)
        self.addresses = harness.host_addresses(self.host.output)
        self.mappings = mappings(self.host.pid)
        self.live = dump(self.host.pid)

    def gcore(self):
        made = harness.run("gcore", "-o", os.path.join(self.folder.name, "by_gcore"), self.host.pid)
        assert made.returncode == 0, made.stderr
        return os.path.join(self.folder.name, f"by_gcore.{self.host.pid}")

    def kernel_core(self):
        """Ends the host."""
        os.kill(self.host.pid, 6)
        self.host.process.wait()
        (core,) = glob.glob(os.path.join(self.folder.name, "core*"))
        return core

    def close(self):
        self.host.stop()
        self.folder.cleanup()


def objects(snapshot):
    """(interpreter, object) in order."""
    return [(ns["interpreter"], o) for ns in snapshot["namespaces"] for o in ns["objects"]]


@functools.cache
def pages(path):
    """The address of a file's first page and that of the end of its last page, by readelf."""
    loads = re.findall(r"^\s+LOAD\s+0x\w+ (0x\w+) 0x\w+ 0x\w+ (0x\w+)",
                       harness.run("readelf", "-lW", path).stdout, re.M)
    return (min(int(a, 16) for a, _ in loads) & ~0xFFF,
            (max(int(a, 16) + int(size, 16) for a, size in loads) + 0xFFF) & ~0xFFF)


def wait_until(condition, timeout=harness.TIMEOUT):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
