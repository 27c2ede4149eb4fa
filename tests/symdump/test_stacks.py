# SPDX-License-Identifier: MIT
"""--stacks: the right functions in the right order for each interpreter, live and from its cores."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

# Interpreter 0 sleeps, 1 compares in numpy's sort, 2 calls back from C, deep in Python.
PROGRAM = """
import ctypes, gorgon, numpy, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
os.chdir({folder!r})

class Slow:
    def __lt__(self, other):
        time.sleep(600)

def sleep():
    time.sleep(600)

def in_numpy():
    numpy.sort(numpy.array([Slow(), Slow()], dtype=object))

def deep(n=500):
    if n:
        deep(n - 1)
    else:
        sorted([1], key=lambda item: time.sleep(600))

print("ready", flush=True)
[sleep, in_numpy, deep][gorgon.interpreter]()
"""
LIBPYTHON = "libpython3.11.so.1.0"
# Debian's numpy is stripped: of its frames only the library is known.
INNERMOST = [["time_sleep", "_PyEval_EvalFrameDefault"],
             ["time_sleep", "slot_tp_richcompare", "PyObject_RichCompareBool", "_multiarray_umath"],
             ["time_sleep", "list_sort_impl", "builtin_sorted.lto_priv.0"]]
OUTERMOST = ["Py_RunMain", "Py_BytesMain", "run", "gorgon_interp_main", "run_interpreter", "start_thread"]


def stacks(text):
    """{(label, thread): [(address, label, library, function or None, line or None)]}"""
    result = {}
    for part in text.strip().split("\n\n"):
        heading, *lines = part.splitlines()
        label, thread = re.fullmatch(r"(interp \d|no interpreter), thread (\d+)", heading).groups()
        frames = [re.fullmatch(r"#(\d+) +(0x\w+)  (interp \d|system)  ([^ !+]+\S*?)(?:!(\S+))?\+0x\w+(?:  (\S+:\d+))?",
                               line) for line in lines]
        assert all(frames), part
        assert [int(f[1]) for f in frames] == list(range(len(frames)))
        result[label, int(thread)] = [f.groups()[1:] for f in frames]
    return result


class Stacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = session.Scene(PROGRAM)
        cls.addClassCleanup(cls.scene.close)
        pid = cls.scene.host.pid
        # "ready" comes before the sleep.
        session.wait_until(lambda: session.output(pid, "--stacks").count("!time_sleep+") == session.COUNT)
        cls.snapshot = session.dump(pid)
        cls.stacks = {"live": stacks(session.output(pid, "--stacks")),
                      "gcore": stacks(session.output(cls.scene.gcore(), "--stacks"))}
        with open(f"/proc/{pid}/stat") as file:
            cls.state = file.read().rsplit(")", 1)[1].split()[0]
        cls.threads = {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}
        if session.kernel_writes_cores_into_files():
            cls.stacks["kernel"] = stacks(session.output(cls.scene.kernel_core(), "--stacks"))

    def test_every_thread_is_there_and_the_process_goes_on(self):
        self.assertEqual({thread for _, thread in self.stacks["live"]}, self.threads)
        self.assertEqual(self.state, "S")

    def test_threads_are_grouped_by_interpreter(self):
        labels = [label for label, _ in self.stacks["live"]]
        self.assertEqual(labels[:3], ["interp 0", "interp 1", "interp 2"])
        self.assertEqual(set(labels[3:]), {"no interpreter"})

    def test_functions_in_order(self):
        for source, found in self.stacks.items():
            for ns in self.snapshot["namespaces"]:
                interp = ns["interpreter"]
                names = [f"{frame[2]}!{frame[3]}" for frame in found[f"interp {interp}", ns["thread"]]]
                with self.subTest(source=source, interp=interp):
                    wanted = iter(names)
                    for name in INNERMOST[interp] + OUTERMOST:
                        self.assertTrue(any(name in n for n in wanted), f"{name} in {names}")

    def test_private_frames_carry_their_interpreter(self):
        for found in self.stacks.values():
            for ns in self.snapshot["namespaces"]:
                frames = found[f"interp {ns['interpreter']}", ns["thread"]]
                self.assertEqual({frame[1] for frame in frames if frame[2] == LIBPYTHON},
                                 {f"interp {ns['interpreter']}"})
                self.assertIn("time_sleep", frames[1][3])
                self.assertRegex(frames[1][4], r"^timemodule\.c:\d+$")

    def test_cores_have_the_same_stacks(self):
        for source in set(self.stacks) - {"live"}:
            with self.subTest(source):
                for key, frames in self.stacks["live"].items():
                    self.assertEqual(self.stacks[source][key], frames)


if __name__ == "__main__":
    unittest.main()
