# SPDX-License-Identifier: MIT
"""--record: functions that are known to take most of the time, in every interpreter, with the state of their threads; the three
formats; processes that end, lie, or use Python without Gorgon."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

# Interpreter 0 spends nine tenths of its time in heavy(), and a thread of its own rests. Interpreter 1 compresses,
# without its GIL. Two threads of interpreter 2 want one GIL. Interpreter 3 sleeps with its GIL.
PROGRAM = """
import ctypes, gorgon, threading, time, zlib

def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def heavy():
    spend(.009)

def light():
    spend(.001)

def rest():
    time.sleep(600)

def both():
    while True:
        heavy()
        light()

def pack():
    data = bytes(1 << 24)
    while True:
        zlib.compress(data, 1)

def spin():
    while True:
        pass

def block():
    libc = ctypes.PyDLL(None)
    while True:
        libc.usleep(200000)

if gorgon.interpreter == 0:
    threading.Thread(target=rest, daemon=True).start()
if gorgon.interpreter == 2:
    threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
[both, pack, spin, block][gorgon.interpreter]()
"""
COUNT = 4
STATES = ["[GIL]", "[GIL, asleep]", "[waits for the GIL]", "[no GIL]", "[idle]"]

SLEEP = "import time; print('ready', flush=True); time.sleep(600)"

# Two sub-interpreters, of which the older one runs; the thread has a state in each.
SUBINTERPRETERS = """
try:
    import _interpreters as subs
except ImportError:
    import _xxsubinterpreters as subs
older, newer = subs.create(), subs.create()
def outer():
    subs.run_string(older, "print('ready', flush=True)\\ndef inner():\\n while True: pass\\ninner()")
outer()
"""

# What a CPython 3.11 would have in memory, but with lists that never end: interpreters, threads, frames. The thread
# is the one that runs this.
HOSTILE = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
const unsigned long Py_Version = 0x030b02f0;
struct { uint64_t words[200]; } _PyRuntime;
static uint64_t interp[64], thread[64], cframe[8], frame[16], code[64];
int main(int argc, char **argv)
{
	int random = argc > 1;
	_PyRuntime.words[5] = (uintptr_t)interp;
	interp[0] = (uintptr_t)interp;
	interp[2] = (uintptr_t)thread;
	thread[1] = (uintptr_t)thread;
	thread[20] = syscall(SYS_gettid);
	thread[7] = (uintptr_t)cframe;
	cframe[1] = (uintptr_t)frame;
	frame[4] = (uintptr_t)code;
	frame[6] = (uintptr_t)frame;
	code[14] = code[16] = code[17] = (uintptr_t)code;
	puts("ready");
	fflush(stdout);
	for (uint64_t seed = 1; random; seed = seed * 6364136223846793005u + 1442695040888963407u) {
		uint64_t *lists[] = {interp, thread, cframe, frame, code, _PyRuntime.words};
		lists[seed >> 60 & 3][seed >> 50 & 7] = seed >> 48 & 1 ? seed : (uintptr_t)lists[seed >> 56 & 3];
		thread[20] = syscall(SYS_gettid);
	}
	pause();
	return 0;
}
"""

# What a reader of memory finds in a python3.13t.
FREE_THREADED = """
#include <stdio.h>
#include <unistd.h>
const unsigned long Py_Version = 0x030d05f0;
struct { char cookie[8]; unsigned long version, free_threaded, words[200]; } _PyRuntime = {"xdebugpy", 0x030d05f0, 1};
int main(void)
{
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""


def record(pid, *words, seconds=1):
    """(exit status, standard output, lines on standard error but that samples came late, as on a busy machine)"""
    result = session.symdump(pid, "--record", seconds, *words)
    return result.returncode, result.stdout, [line for line in result.stderr.splitlines() if "samples came late" not in line]


def stacks(text):
    """[([frame], count)] of collapsed stacks."""
    found = [line.rpartition(" ") for line in text.splitlines()]
    return [(stack.split(";"), int(count)) for stack, _, count in found]


def names(stack):
    """Functions of a stack without file and line."""
    return [re.sub(r" \(.*", "", frame) for frame in stack[3:]]


def count(found, *parts, among=None):
    """Samples with all these frames: of interpreter, state, functions."""
    return sum(n for stack, n in found
               if all(part in [stack[0], stack[2], *names(stack)] for part in parts) and (not among or stack[2] in among))


class Record(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.host = session.start_host(folder.name, PROGRAM, COUNT, asleep=0)
        cls.addClassCleanup(cls.host.__exit__, None, None, None)
        cls.pid = cls.host.pid
        cls.status, cls.text, cls.errors = record(cls.pid, seconds=1.5)
        cls.stacks = stacks(cls.text)

    def switches(self, tid):
        with open(f"/proc/{self.pid}/task/{tid}/status") as file:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])

    def test_all_interpreters_are_there_with_known_states(self):
        self.assertEqual((self.status, self.errors), (0, []))
        self.assertEqual({stack[0] for stack, _ in self.stacks}, {f"interp {i}" for i in range(COUNT)})
        self.assertLessEqual({stack[2] for stack, _ in self.stacks}, set(STATES))
        self.assertTrue(all(re.fullmatch(r"thread \d+ \(.+\)", stack[1]) for stack, _ in self.stacks), self.text)

    def test_functions_have_their_shares_and_callers(self):
        heavy, light = (count(self.stacks, "interp 0", name) for name in ("heavy", "light"))
        self.assertGreater(heavy, 3 * light, self.text)
        self.assertGreater(heavy, count(self.stacks, "interp 0", "both") // 2)
        line = PROGRAM.splitlines().index("    spend(.009)") + 1
        self.assertRegex(self.text, rf"(?m)^interp 0;thread \d+ [^;]*;[^;]*;<module> \(<string>:\d+\);both \(<string>:\d+\);"
                                    rf"heavy \(<string>:{line}\);spend \(<string>:\d+\) \d+$")

    def test_thread_that_sleeps_is_idle(self):
        idle = count(self.stacks, "interp 0", "rest")
        self.assertGreater(idle, 10)
        self.assertEqual(count(self.stacks, "interp 0", "rest", "[idle]"), idle)

    def test_gil_is_held_waited_for_or_not_needed(self):
        self.assertGreater(count(self.stacks, "interp 0", "heavy", "[GIL]"), 10, self.text)
        self.assertGreater(count(self.stacks, "interp 1", "pack", "[no GIL]"), 10, self.text)
        self.assertGreater(count(self.stacks, "interp 2", "spin", "[GIL]"), 10, self.text)
        self.assertGreater(count(self.stacks, "interp 2", "spin", "[waits for the GIL]"), 5, self.text)
        self.assertGreater(count(self.stacks, "interp 3", "block", "[GIL, asleep]"), 10, self.text)

    def test_nobody_is_stopped(self):
        tid = re.search(r"^interp 0;thread (\d+) [^;]*;\[idle\];.*rest ", self.text, re.M)[1]
        before = self.switches(tid)
        record(self.pid, seconds=0.3)
        self.assertEqual(self.switches(tid), before)

    def test_speedscope_has_a_profile_for_each_thread(self):
        status, text, errors = record(self.pid, "--format", "speedscope", "--rate", "50")
        document = json.loads(text)
        self.assertEqual((status, errors), (0, []))
        self.assertEqual(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
        frames = document["shared"]["frames"]
        threads = {re.match(r"interp \d, thread \d+", profile["name"])[0] for profile in document["profiles"]}
        self.assertEqual(threads, {"{}, {}".format(stack[0], re.match(r"thread \d+", stack[1])[0]) for stack, _ in self.stacks})
        for profile in document["profiles"]:
            self.assertEqual((profile["type"], profile["unit"], profile["startValue"]), ("sampled", "seconds", 0))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertAlmostEqual(sum(profile["weights"]), profile["endValue"], 3)
            self.assertTrue(all(abs(weight / 0.02 - round(weight / 0.02)) < 1e-6 for weight in profile["weights"]))
            self.assertLessEqual({frames[sample[0]]["name"] for sample in profile["samples"]}, set(STATES))
        heavy = next(frame for frame in frames if frame["name"] == "heavy")
        self.assertEqual((heavy["file"], heavy["line"]), ("<string>", PROGRAM.splitlines().index("    spend(.009)") + 1))

    def test_flame_graph_has_boxes_on_their_callers(self):
        status, text, errors = record(self.pid, "--format", "svg")
        self.assertEqual((status, errors), (0, []))
        svg = "{http://www.w3.org/2000/svg}"
        boxes = {}
        for group in xml.etree.ElementTree.fromstring(text).iter(f"{svg}g"):
            rect = group.find(f"{svg}rect")
            boxes.setdefault(group.get("data-n"), []).append(
                (float(rect.get("x")), float(rect.get("y")), float(rect.get("width")), group.find(f"{svg}title").text))
        self.assertLessEqual({"all", "interp 0", "interp 3", "[GIL]", "both", "heavy", "pack"}, set(boxes))
        heavy, both = boxes["heavy"][0], next(box for box in boxes["both"] if box[0] <= boxes["heavy"][0][0])
        self.assertEqual(heavy[1], both[1] - 17)
        self.assertLessEqual(heavy[0] + heavy[2], both[0] + both[2] + 1)
        self.assertRegex(heavy[3], r"^heavy \(<string>:\d+\): \d+ samples, [\d.]+%$")
        self.assertRegex(boxes["all"][0][3], r"^all: \d+ samples, 100\.00%$")

    def test_native_frames_stand_between_those_of_python(self):
        status, text, errors = record(self.pid, "--native")
        self.assertEqual((status, errors), (0, []))
        found = stacks(text)
        self.assertNotIn("_PyEval_EvalFrameDefault", text)
        # Debian's libz is stripped, and CPython's functions may have been split: "zlib_compress.lto_priv.0".
        self.assertGreater(sum(n for stack, n in found if re.search(r";pack \([^;]*;zlib_compress\b", ";".join(stack))), 5, text)
        parts = "start_thread", "gorgon_interp_main", "Py_RunMain", "<module>", "both", "heavy", "spend"
        orders = [[next((i for i, name in enumerate(names(stack)) if name.startswith(part)), None) for part in parts]
                  for stack, _ in found if "heavy" in names(stack)]
        orders = [order for order in orders if None not in order]  # others are of a moment between two calls
        self.assertTrue(orders, text)
        for order in orders:
            self.assertEqual(order, sorted(order), text)
        self.assertEqual(count(found, "interp 0", "rest", "[idle]"), count(found, "interp 0", "rest"))
        self.assertGreater(count(found, "no interpreter"), 5, text)  # the host's main thread

    def test_process_goes_on_after_native(self):
        tid = re.search(r"^interp 0;thread (\d+) [^;]*;\[idle\];.*rest ", self.text, re.M)[1]
        before = self.switches(tid)
        record(self.pid, "--native", seconds=0.5)
        self.assertLessEqual(self.switches(tid), before + 3)  # it was stopped once, not for each sample
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/status") as file:
                status = file.read()
            self.assertRegex(status, r"(?m)^State:\s+[RSD]")
            self.assertRegex(status, r"(?m)^TracerPid:\s+0$")

    def test_a_program_that_debugs_it_keeps_it(self):
        with harness.Background("gdb", "-q", "-batch", "-ex", f"attach {self.pid}", "-ex", "echo attached\\n", "-ex",
                                "shell sleep 600", until="attached") as debugger:
            status, text, errors = record(self.pid, "--native", seconds=0.3)
            self.assertEqual((status, text), (3, ""))
            self.assertEqual(len(errors), 1, errors)
            self.assertRegex(errors[0], r"--native: thread \d+ cannot be stopped: another program debugs it, or it is somebody else's$")
            os.kill(debugger.pid, signal.SIGKILL)


def samples(pid):
    """Whether a recorder has begun: it has opened what the kernel says of a thread's time."""
    try:
        return any("schedstat" in os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:  # a descriptor that it has closed meanwhile
        return False


class Targets(unittest.TestCase):
    def compile(self, source, *words):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = os.path.join(folder.name, "program")
        made = subprocess.run(["gcc", "-rdynamic", "-x", "c", "-", "-o", program], input=source, text=True, check=False)
        self.assertEqual(made.returncode, 0)
        process = harness.Background(program, *words, until="ready")
        self.addCleanup(process.stop)
        return process.pid

    def test_python_without_gorgon_is_the_host(self):
        for python in filter(None, [harness.PYTHON3, *(harness.find_python(f"3.{minor}") for minor in range(12, 16))]):
            with self.subTest(python), harness.Background(python, "-c", SLEEP, until="ready", asleep=1) as process:
                for words in ([], ["--native"]):
                    status, text, errors = record(process.pid, *words, seconds=0.3)
                    self.assertEqual((status, errors), (0, []))
                    self.assertRegex(text, r"(?m)^host;thread \d+ \(python3[^;]*\);\[idle\];.*<module> \(<string>:1\).* \d+$")

    def test_sub_interpreters_of_one_thread(self):
        """The sub-interpreter that runs counts. C frames stand among its frames in the order in which they were entered."""
        with harness.Background(harness.PYTHON3, "-c", SUBINTERPRETERS, until="ready") as process:
            status, text, errors = record(process.pid, seconds=0.4)
            self.assertEqual((status, errors), (0, []))
            self.assertRegex(text, r"^host;thread \d+ [^;]*;\[GIL\];<module> \(<s\w+>:4\);inner \(<s\w+>:3\) \d+\n")
            status, text, errors = record(process.pid, "--native", seconds=0.4)
            self.assertEqual((status, errors), (0, []))
            self.assertRegex(text, r"(?m)^host;thread \d+ [^;]*;\[GIL\];_start [^ ].*;<module> \(<string>:\d+\);outer \(.*;"
                                   r"<module> \(<s\w+>:4\);inner \(<s\w+>:3\)")

    def test_process_that_ends_leaves_what_there_was(self):
        with harness.Background(harness.GORGON, "run", "-n", 2, "-c", "import time; print('ready', flush=True); time.sleep(1)",
                                until=r"(?s)(ready.*){2}") as process:
            started = time.monotonic()
            status, text, errors = record(process.pid, seconds=60)
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(status, 0)
        self.assertEqual(len(errors), 1, errors)
        self.assertRegex(errors[0], rf"^gorgon-symdump: {process.pid}: it ended after [\d.]+ of 60 seconds$")
        self.assertEqual({stack[0] for stack, _ in stacks(text)}, {"interp 0", "interp 1"})

    def test_objects_that_come_and_go_change_nothing(self):
        code = (f"import _ctypes; print('ready', flush=True); name = '{harness.DYNLOAD}/_decimal{harness.EXT_SUFFIX}'\n"
                "while True: _ctypes.dlclose(_ctypes.dlopen(name))")
        with harness.Background(harness.GORGON, "run", "-c", code, until="ready") as process:
            for words in ([], ["--native"]):
                status, text, errors = record(process.pid, *words, seconds=0.6)
                self.assertEqual((status, errors), (0, []))
                self.assertGreater(count(stacks(text), "interp 0", "<module>"), 5)

    def test_ctrl_c_ends_it_early_with_what_there_was(self):
        with harness.Background(harness.PYTHON3, "-c", SLEEP, until="ready", asleep=1) as process:
            recorder = subprocess.Popen([harness.SYMDUMP, str(process.pid), "--record", "600"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
            session.wait_until(lambda: samples(recorder.pid))
            time.sleep(0.3)  # for a few samples
            recorder.send_signal(signal.SIGINT)
            text, _ = recorder.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(recorder.returncode, 0)
        self.assertGreater(count(stacks(text), "host", "<module>"), 0)

    def test_lists_without_end_are_said_not_to_be_read(self):
        pid = self.compile(HOSTILE)
        status, text, errors = record(pid, seconds=0.2)
        self.assertEqual(status, 0)
        self.assertRegex(text, r"^host;thread \d+ \(program\);\[\w+\];\[could not be read\] \d+\n$")
        self.assertEqual(len(errors), 1, errors)
        self.assertRegex(errors[0], rf"^gorgon-symdump: {pid}: \d+ stacks could not be read: they changed meanwhile$")

    def test_free_threaded_python_is_refused(self):
        self.assertEqual(record(self.compile(FREE_THREADED)), (3, "", [
            "gorgon-symdump: the host's Python has no Python frames: it is a build without a GIL"]))

    def test_memory_that_changes_at_random_ends_nothing(self):
        pid = self.compile(HOSTILE, "random")
        status, text, _ = record(pid, "--rate", "1000", seconds=0.5)
        self.assertEqual(status, 0)
        self.assertTrue(all(stack[0] == "host" for stack, _ in stacks(text)), text[:1000])

    def test_mistakes_get_one_clear_line(self):
        with harness.Background("sh", "-c", "echo ready; exec sleep 600", until="ready") as other:
            for words, status, message in (
                    (["--record"], 2, "--record: no such option, or its value is missing (gorgon-symdump --help)"),
                    (["--record", "0"], 2, "0: seconds expected, more than 0 and at most 1000000 (gorgon-symdump --help)"),
                    (["--record", "1s"], 2, "1s: seconds expected, more than 0 and at most 1000000 (gorgon-symdump --help)"),
                    (["--record", "nan"], 2, "nan: seconds expected, more than 0 and at most 1000000 (gorgon-symdump --help)"),
                    (["--record", "1", "--rate", "0"], 2, "0: samples a second expected, 0.01 to 10000 (gorgon-symdump --help)"),
                    (["--record", "1", "--format", "png"], 2, "png: collapsed, speedscope or svg expected (gorgon-symdump --help)"),
                    (["--rate", "9"], 2, "--rate: only with --record (gorgon-symdump --help)"),
                    (["--stacks", "--native"], 2, "--native: only with --record (gorgon-symdump --help)"),
                    (["--format", "svg"], 2, "--format: only with --record (gorgon-symdump --help)"),
                    (["--record", "1", "--json"], 2, "--json: only alone or with --stacks or --top (gorgon-symdump --help)"),
                    (["--record", "1"], 3, f"{other.pid}: no CPython is in use")):
                with self.subTest(words):
                    result = session.symdump(other.pid, *words)
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (status, "", f"gorgon-symdump: {message}\n"))


if __name__ == "__main__":
    unittest.main()
