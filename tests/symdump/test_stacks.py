# SPDX-License-Identifier: MIT
"""--stacks: the right functions in the right order for each interpreter, C and Python, live and from its
cores."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

# Interpreter 0 sleeps, interpreter 1 compares in numpy's sort, interpreter 2 calls back from C, deep in Python, and
# interpreter 3 is in a C++ module.
COUNT = 4
PROGRAM = """
import ctypes, gorgon, numpy, resource, sys, time
sys.path.append("MODULES")
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

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

def in_cpp():
    import walk
    walk.go(1, 600)

print("ready", flush=True)
[sleep, in_numpy, deep, in_cpp][gorgon.interpreter]()
""".replace("MODULES", harness.MODULES)
# Interpreter 1 keeps its GIL, the others wait without it.
BUSY = """
import gorgon, time
def spin():
    while True:
        pass
def wait():
    time.sleep(600)
print("ready", flush=True)
spin() if gorgon.interpreter == 1 else wait()
"""
# Debian's numpy is stripped: of its frames only the library is known.
INNERMOST = [["time_sleep", "_PyEval_EvalFrameDefault"],
             ["time_sleep", "slot_tp_richcompare", "PyObject_RichCompareBool", "_multiarray_umath"],
             ["time_sleep", "list_sort_impl", "builtin_sorted"],
             ["libc.so.6!sleep", "walk.so!_ZL9walk_stepiij", "walk.so!_ZL7walk_goP7_objectS0_", "cfunction_call"]]
# [(function, beginning of its line)], those of each C call of the bytecode loop apart.
PYTHON = [[[("sleep", "    time.sleep(600)"), ("<module>", "[sleep, in_numpy, deep, ")]],
          [[("Slow.__lt__", "        time.sleep(600)")], [("sort", None)],
           [("in_numpy", "    numpy.sort("), ("<module>", "[sleep, in_numpy, deep, ")]],
          [[("deep.<locals>.<lambda>", "        sorted([1]")],
           [("deep", "        sorted([1]"), *[("deep", "        deep(n - 1)")] * 500, ("<module>", "[sleep, in_numpy, deep, ")]],
          [[("in_cpp", "    walk.go(1"), ("<module>", "[sleep, in_numpy, deep, ")]]]
OUTERMOST = ["Py_RunMain", "run_program", "gorgon_interp_main", "run_interpreter", "start_thread"]

# Put before gorgon-symdump: writes down which thread is stopped, how much has been printed by then, and how often the thread has run.
STOPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <unistd.h>
long ptrace(enum __ptrace_request request, ...)
{
	long (*next)(enum __ptrace_request, pid_t, void *, void *) = dlsym(RTLD_NEXT, "ptrace");
	va_list list;
	va_start(list, request);
	pid_t tid = va_arg(list, pid_t);
	void *addr = va_arg(list, void *), *data = va_arg(list, void *);
	va_end(list);
	if (request == PTRACE_ATTACH || request == PTRACE_INTERRUPT) {
		FILE *file = fopen(getenv("STOPS"), "a"), *schedstat;
		char path[64];
		int runs = 0;
		snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
		schedstat = fopen(path, "r");
		fscanf(schedstat, "%*u %*u %d", &runs);
		fclose(schedstat);
		fprintf(file, "%d %ld %d\\n", (int)tid, (long)lseek(STDOUT_FILENO, 0, SEEK_CUR), runs);
		fclose(file);
	}
	return next(request, tid, addr, data);
}
"""


def stops(*command):
    """[(thread, bytes of output by then, how often it has run)] for each time that the command has stopped a thread."""
    with tempfile.TemporaryDirectory() as folder:
        shim, found = os.path.join(folder, "stops.so"), os.path.join(folder, "found")
        subprocess.run(["gcc", "-x", "c", "-", "-fPIC", "-shared", "-o", shim], input=STOPS, text=True, check=True)
        env = dict(os.environ, LD_PRELOAD=shim, STOPS=found, ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
        with open(os.path.join(folder, "output"), "w") as file:
            subprocess.run(list(map(str, command)), stdout=file, env=env, check=True, timeout=harness.TIMEOUT)
        with open(found) as file:
            return [tuple(int(word) for word in line.split()) for line in file]


# The same in every version: a generator, a call deep in Python and back through C, and a holder of a GIL.
# The callback's line is neither its function's first nor the next one.
VERSIONS = """
import gorgon, time

class Slow:
    def __lt__(self, other):
        time.sleep(600)

def generate():
    yield sorted([Slow(), Slow()])

def deep(n=3):
    if n:
        deep(n - 1)
    else:
        sorted([1], key=lambda item: [
            "sleep",
            time.sleep(600)])

def spin():
    while True:
        pass

print("ready", flush=True)
[lambda: next(generate()), deep, spin][gorgon.interpreter]()
"""
VERSIONS_PYTHON = [
    [[("Slow.__lt__", "        time.sleep(600)\n")], [("generate", "    yield")], [("<lambda>", "[lambda"), ("<module>", "[lambda")]],
    [[("deep.<locals>.<lambda>", "            time.sleep(600)])")],
     [("deep", "        sorted([1]"), *[("deep", "        deep(n - 1)")] * 3, ("<module>", "[lambda")]],
    [[("spin", ("    while", "        pass")), ("<module>", "[lambda")]],
]


def line_of(text):
    """Number of the first line of PROGRAM that begins so."""
    return next(i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.startswith(text))


def stacks(text):
    """{(label, thread): [(address, label, library, function or None, line or None)]}"""
    result = {}
    for part in text.strip().split("\n\n"):
        heading, *lines = part.splitlines()
        label, thread = re.fullmatch(r"(interp \d|no interpreter), thread (\d+)", heading).groups()
        frames = [re.fullmatch(r"#(\d+) +(0x\w+)  (interp \d|system)  ([^ !+]+\S*?)(?:!(\S+))?\+0x\w+(?:  (\S+:\d+))?",
                               line) for line in lines if not line.startswith("       Python  ")]
        assert all(frames), part
        assert [int(f[1]) for f in frames] == list(range(len(frames)))
        result[label, int(thread)] = [f.groups()[1:] for f in frames]
    return result


def python_frames(text):
    """{label: [[(function, file, line)] below each C frame of the bytecode loop]}"""
    result = {}
    for part in text.strip().split("\n\n"):
        groups = re.findall(r"^#.*!_PyEval_EvalFrameDefault.*\n((?:       Python  .*(?:\n|$))*)", part, re.M)
        assert sum(group.count("       Python  ") for group in groups) == part.count("       Python  "), part
        result.setdefault(part.split(",")[0], []).extend(
            re.findall(r"^       Python  (\S+)  (\S+):(\d+)$", group, re.M) for group in groups)
    return result


def as_text(document):
    """What --stacks prints of what it gives as JSON."""
    lines = []
    for thread in document["threads"]:
        label = "no interpreter" if thread["interpreter"] is None else f"interp {thread['interpreter']}"
        lines.append(f"{label}, thread {thread['thread']}{', holds the GIL' if thread['holds_gil'] else ''}")
        for i, frame in enumerate(thread["frames"]):
            label = {"private": f"interp {frame['interpreter']}", "generated": "jit", "system": "system"}[frame["kind"]]
            name = f"{os.path.basename(frame['path'])}"
            name += f"!{frame['function']}+{frame['offset']:#x}" if frame["function"] else f"+{frame['vaddr']}"
            line = f"  {os.path.basename(frame['file'])}:{frame['line']}" if frame["file"] else ""
            lines.append(f"#{i:<3} {frame['addr']}  {label}  {name}{line}")
            lines += [f"       Python  {f['function']}  {f['file']}:{f['line']}" for f in frame["python"]]
        assert (thread["cut_off"], thread["python_rest"]) == (None, []), thread
        lines.append("")
    return "".join(line + "\n" for line in lines)


class Stacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = session.Scene(PROGRAM, COUNT)
        cls.addClassCleanup(cls.scene.close)
        pid = cls.scene.host.pid
        # "ready" comes before the sleep.
        session.wait_until(lambda: session.output(pid, "--stacks").count("!clock_nanosleep+") == COUNT)
        cls.snapshot = session.dump(pid)
        gcore = cls.scene.gcore()
        cls.texts = {"live": session.output(pid, "--stacks"), "gcore": session.output(gcore, "--stacks")}
        cls.documents = {"live": session.output(pid, "--stacks", "--json"),
                         "gcore": session.output(gcore, "--json", "--stacks")}
        cls.stops = {words: stops(harness.SYMDUMP, pid, *words.split())
                     for words in ("--stacks", "--stacks --json", "--record 0.3 --native")}
        with open(f"/proc/{pid}/stat") as file:
            cls.state = file.read().rsplit(")", 1)[1].split()[0]
        cls.threads = {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}
        if session.kernel_writes_cores_into_files():
            core = cls.scene.kernel_core()
            cls.texts["kernel"] = session.output(core, "--stacks")
            cls.documents["kernel"] = session.output(core, "--stacks", "--json")
        cls.stacks = {source: stacks(text) for source, text in cls.texts.items()}

    def test_every_thread_is_there_and_the_process_goes_on(self):
        self.assertEqual({thread for _, thread in self.stacks["live"]}, self.threads)
        self.assertEqual(self.state, "S")

    def test_threads_are_grouped_by_interpreter(self):
        labels = [label for label, _ in self.stacks["live"]]
        self.assertEqual(labels[:COUNT], [f"interp {i}" for i in range(COUNT)])
        self.assertEqual(set(labels[COUNT:]), {"no interpreter"})

    def test_each_thread_is_stopped_once(self):
        """Frames are in libraries of every kind; nobody is stopped again when one comes up that was not known yet."""
        for words, found in self.stops.items():
            with self.subTest(words):
                self.assertEqual(sorted(tid for tid, _, _ in found), sorted(self.threads))

    def test_a_thread_that_has_not_run_since_is_not_stopped_again(self):
        """On a busy machine a thread still waits for a processor after its stop when the next sample comes."""
        with tempfile.TemporaryDirectory() as folder, session.start_host(folder) as host, contextlib.ExitStack() as busy:
            for tid in os.listdir(f"/proc/{host.pid}/task"):
                os.setpriority(os.PRIO_PROCESS, int(tid), 19)
            for _ in range(2 * os.cpu_count()):
                process = busy.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
                busy.callback(process.kill)
            found = stops(harness.SYMDUMP, host.pid, *"--record 0.5 --native".split())
        self.assertGreater(len(found), 1)
        for thread in {thread for thread, *_ in found}:
            runs = [count for other, _, count in found if other == thread]
            self.assertTrue(all(later > earlier + 1 for earlier, later in zip(runs, runs[1:])), f"one is to stop: {runs}")

    def test_output_comes_thread_by_thread(self):
        printed = [size for _, size, _ in self.stops["--stacks"]]
        self.assertEqual(printed, sorted(set(printed)))

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
                self.assertEqual({frame[1] for frame in frames if frame[2] == harness.SONAME},
                                 {f"interp {ns['interpreter']}"})
                first = next(frame for frame in frames if frame[1] != "system")
                self.assertEqual(first[1], f"interp {ns['interpreter']}")
                self.assertRegex(first[4], r"^(timemodule\.c|walk\.cc):\d+$")

    def test_cores_have_the_same_stacks(self):
        for source in set(self.stacks) - {"live"}:
            with self.subTest(source):
                for key, frames in self.stacks["live"].items():
                    self.assertEqual(self.stacks[source][key], frames)

    def test_json_says_the_same(self):
        for source, text in self.documents.items():
            with self.subTest(source):
                document = json.loads(text)
                self.assertEqual([document[name] for name in ("schema", "version", "target", "source", "consistent", "problems")],
                                 ["gorgon-symdump --stacks", 1, "process" if source == "live" else "core", "gorgon", True, []])
                self.assertEqual(as_text(document), self.texts[source])

    def test_python_frames_are_below_the_c_call_that_runs_them(self):
        for source, text in self.texts.items():
            found = python_frames(text)
            for interp, groups in enumerate(PYTHON):
                with self.subTest(source=source, interp=interp):
                    names = [[frame[0] for frame in group] for group in found[f"interp {interp}"]]
                    self.assertEqual([group for group in names if group != ["sort"]],
                                     [[name for name, _ in group] for group in groups if group[0][0] != "sort"])
                    ours = [frame for group in found[f"interp {interp}"] for frame in group if frame[1] == "<string>"]
                    wanted = [line_of(text) for group in groups for _, text in group if text]
                    self.assertEqual([int(line) for _, _, line in ours], wanted)

    def test_the_holder_of_a_gil_is_marked(self):
        with harness.Background(harness.HOST, "-n", session.COUNT, BUSY, until=r"(?s)(ready.*){3}") as host:
            session.wait_until(lambda: session.output(host.pid, "--stacks").count("!time_sleep") == 2)
            text = session.output(host.pid, "--stacks")
        holders = re.findall(r"^(interp \d), thread \d+, holds the GIL$", text, re.M)
        self.assertEqual(holders, ["interp 1"])
        self.assertEqual([frame[0] for frame in python_frames(text)["interp 1"][0]], ["spin", "<module>"])


# Asks for the time without pause. The code for that is the kernel's, in the process.
CLOCK = """
#include <stdint.h>
#include <stdio.h>
#include <time.h>
struct { uint32_t version, action; void *relevant, *first; } __jit_debug_descriptor = {1};
int main(void)
{
	struct timespec now;
	puts("ready");
	fflush(stdout);
	while (!clock_gettime(CLOCK_MONOTONIC, &now))
		;
	return 0;
}
"""


# Goes through code that is registered nowhere and has no frame pointer.
UNKNOWN = """
import ctypes, mmap
# push %rbp; xor %ebp,%ebp; call *%rdi; pop %rbp; ret
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                 prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("5531edffd75dc3"))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
pause = ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p)
def wait():
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)(pause)
print("ready", flush=True)
wait()
"""


class Unknown(unittest.TestCase):
    def test_python_frames_stand_at_the_end_of_a_stack_that_ends_too_early(self):
        with harness.Background(harness.HOST, "-n", 1, UNKNOWN, until="ready") as host:
            session.wait_until(lambda: "!pause+" in session.output(host.pid, "--stacks"))
            text = session.output(host.pid, "--stacks")
            document = json.loads(session.output(host.pid, "--stacks", "--json"))
        self.assertRegex(text, r"(?m)^interp 0, thread \d+\n(#\d +0x\w+  system  libc\.so\.6!\w*cancel\w*\+.*\n)*"
                               r"#\d +0x\w+  system  libc\.so\.6!pause\+.*\n#\d +0x\w+  in no loaded file\n(\(cut off: .*\n)?"
                               r"       Python  wait  <string>:10\n       Python  <module>  <string>:12\n$")
        (thread,) = (thread for thread in document["threads"] if thread["interpreter"] == 0)
        self.assertEqual([frame["kind"] for frame in thread["frames"]], ["system"] * (len(thread["frames"]) - 1) + ["unknown"])
        self.assertEqual([(f["function"], f["line"]) for f in thread["python_rest"]], [("wait", 10), ("<module>", 12)])


# inner() has no frame pointer, and its caller's is in the register.
POINTERS = {"inner": ("-fomit-frame-pointer", "#include <unistd.h>\nunsigned inner(unsigned n) { return sleep(n) + 1; }"),
            "outer": ("-fno-omit-frame-pointer", "unsigned inner(unsigned); unsigned outer(unsigned n) { return inner(n) + 1; }")}


class Pointers(unittest.TestCase):
    def test_no_frame_is_left_out_where_a_thread_enters_a_library(self):
        """libdwfl follows frame pointers while it knows of no library there."""
        with tempfile.TemporaryDirectory() as folder:
            objects = []
            for name, (option, source) in POINTERS.items():
                objects.append(os.path.join(folder, f"{name}.o"))
                subprocess.run(["gcc", "-O1", "-fPIC", option, "-c", "-x", "c", "-", "-o", objects[-1]], input=source, text=True, check=True)
            library = os.path.join(folder, "libframes.so")
            subprocess.run(["gcc", "-shared", *objects, "-o", library], check=True)
            code = f"import ctypes; outer = ctypes.CDLL({library!r}).outer; print('ready', flush=True); outer(600)"
            with harness.Background(harness.HOST, "-n", 1, code, until="ready") as host:
                session.wait_until(lambda: "!inner+" in session.output(host.pid, "--stacks"))
                text = session.output(host.pid, "--stacks")
        self.assertRegex(text, r"(?m)^#\d+ .*libframes\.so!inner\+.*\n#\d+ .*libframes\.so!outer\+.*\n#\d+ .*libffi")


class Vdso(unittest.TestCase):
    def test_frames_of_the_vdso_have_names(self):
        """Live and in a core; taken again until the program is in the vdso, where it is most of the time."""
        expected = (r"(?m)^#(\d+) +\w+  system  \[vdso\]!\w*clock_gettime\+\w+\n(?:#\d+ .*  system  \[vdso\].*\n)*"
                    r"#\d+ +\w+  system  libc\.so\.6!\w*clock_gettime.*\n#\d+ +\w+  system  clock!main\+")
        with tempfile.TemporaryDirectory() as folder:
            program, core = os.path.join(folder, "clock"), os.path.join(folder, "core")
            made = subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=CLOCK, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                session.wait_until(lambda: re.search(expected, session.output(process.pid, "--stacks")))

                def core_has_it():
                    harness.run("gcore", "-o", core, process.pid).check_returncode()
                    return re.search(expected, session.output(f"{core}.{process.pid}", "--stacks"))
                session.wait_until(core_has_it)


class Versions(unittest.TestCase):
    def check(self, version):
        python = harness.find_python(version)
        if not python:
            self.skipTest(f"no CPython {version} with a libpython")
        with harness.Background(harness.HOST, "-n", 3, "-p", python, VERSIONS, until=r"(?s)(ready.*){3}") as host:
            session.wait_until(lambda: session.output(host.pid, "--stacks").count("!time_sleep") == 2)
            with tempfile.TemporaryDirectory() as folder:
                made = harness.run("gcore", "-o", os.path.join(folder, "core"), host.pid)
                self.assertEqual(made.returncode, 0, made.stderr)
                texts = [session.output(host.pid, "--stacks"),
                         session.output(os.path.join(folder, f"core.{host.pid}"), "--stacks")]
        lines = VERSIONS.splitlines()
        for text in texts:
            self.assertEqual(re.findall(r"^(interp \d), thread \d+, holds the GIL$", text, re.M), ["interp 2"])
            found = python_frames(text)
            for interp, groups in enumerate(VERSIONS_PYTHON):
                got = [[(function, lines[int(line) - 1]) for function, _, line in group]
                       for group in found[f"interp {interp}"]]
                self.assertEqual([[name for name, _ in group] for group in got],
                                 [[name for name, _ in group] for group in groups])
                for (_, line), (name, begins) in zip(sum(got, []), sum(groups, [])):
                    self.assertTrue((line + "\n").startswith(begins), (interp, name, line))

    def test_3_11(self):
        self.check("3.11")

    def test_3_12(self):
        self.check("3.12")

    def test_3_13(self):
        self.check("3.13")

    def test_3_14(self):
        self.check("3.14")

    def test_3_15(self):
        self.check("3.15")


if __name__ == "__main__":
    unittest.main()
