# SPDX-License-Identifier: MIT
"""Helpers for the gdb tests: a loop over stops, inside gdb, and a parser for what it prints.

The loop is the test's own Python code. It prints a marker line for each stop with the breakpoints that were hit and the
pc, and then runs the commands chosen for them. A breakpoint is named by its location as it was typed (`break walk.cc:30
if n == 1` is "walk.cc:30"), or by its number if two breakpoints have one location or a test is about numbers."""

import os
import re
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "program.py")
WALKER = os.path.join(HERE, "walker.py")
WALK = os.path.join(harness.ROOT, "tests", "modules", "walk.cc")
STOP_LINE = harness.source_line(PROGRAM, "# where the sessions stop")
WAIT_LINE = harness.source_line(PROGRAM, "# where attached sessions find them")
DECIMAL = f"_decimal{harness.EXT_SUFFIX}"

LOOP = r"""
python
_hits = []

def called(breakpoint):
    text = (breakpoint.location or breakpoint.expression or "?").replace("-function ", "")
    return breakpoint.number, text.split()[0]

gdb.events.stop.connect(lambda e: _hits.append([called(b) for b in getattr(e, "breakpoints", [])]))

def drive(actions, limit=60):
    # actions: {location, or number, of a breakpoint: commands}, 0 for all others; "once" disables the location that was hit.
    for _ in range(limit):
        if not gdb.selected_inferior().pid:
            print("=== end", flush=True)
            return
        hit = _hits[-1]
        thread = gdb.selected_thread()
        print("=== stop %s pc %#x thread %d lwp %d" % (
            ",".join("%d=%s" % each for each in hit) or "-", gdb.selected_frame().pc(), thread.num, thread.ptid[1]), flush=True)
        for number, location in hit:
            for command in actions.get(location, actions.get(number, actions.get(0, []))):
                if command == "once":
                    command = "disable %d.%d" % (number, gdb.convenience_variable("_hit_locno"))
                print("--- " + command, flush=True)
                try:
                    gdb.execute(command)
                except gdb.error as error:
                    print("error: %s" % error, flush=True)
        gdb.execute("continue")
    print("=== limit", flush=True)
end
"""


# To put behind a command that runs the program, where a breakpoint's own commands end in "continue". gdb 18 begins the commands of the
# second stop, and of each further one, when it has done one more command of its script, also in a program in C without Gorgon.
MORE = 100 * ["echo"]


def code(**variables):
    """The text to give to the host."""
    setting = "".join(f"{name} = {value!r}; " for name, value in variables.items())
    return f"{setting}exec(compile(open('{PROGRAM}').read(), '{PROGRAM}', 'exec'))"


def walk(program=WALKER, **variables):
    """The text that makes the host's interpreters walk."""
    setting = "".join(f"{name} = {value!r}; " for name, value in dict(variables, modules=harness.MODULES).items())
    return f"{setting}exec(compile(open('{program}').read(), '{program}', 'exec'))"


def in_each_step(commands):
    """Commands of gdb: these are run in the frame of walk_step() of each thread, and shown as at a stop at breakpoint 1."""
    return ["python", "for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):",
            "    thread.switch()", "    frame = gdb.selected_frame()",
            "    while frame and frame.name() != 'walk_step': frame = frame.older()",
            "    if not frame: continue", "    frame.select()",
            "    print('=== stop 1 pc %#x thread %d lwp %d' % (frame.pc(), thread.num, thread.ptid[1]), flush=True)",
            f"    for command in {commands!r}:", "        print('--- ' + command, flush=True)",
            "        gdb.execute(command)", "end"]


class WaitingWalk:
    """For cases in which all threads of a host with `count` interpreters wait in their steps. `attached` and `core` are
    what gdb prints for `commands`; `steps` are what the threads have printed."""

    count, commands, mode, variables = 3, (), (), {}
    waiting = 6  # threads

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        core = os.path.join(cls.folder.name, "core")
        with harness.Background(harness.HOST, *cls.mode, "-n", cls.count, walk(wait=600, **cls.variables),
                                until=r"(?s)(walk: number.*){%d}" % cls.waiting, asleep=cls.waiting) as host:
            cls.steps = steps(host.output)
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.gdb(cls.commands, script=True, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.gdb([f"core-file {core}.{host.pid}", *cls.commands], harness.HOST, script=True)

    def test_attached(self):
        self.check(self.attached)

    def test_core(self):
        self.check(self.core)


def steps(output):
    """{LWP: [what walk.cc has printed of a step, by name]}"""
    found = {}
    for line in re.findall(r"walk: (number \d.*)", output):  # it may come in the middle of a line of gdb's output
        words = line.split()
        step = dict(zip(words[::2], words[1::2]))
        found.setdefault(int(step["lwp"]), []).append(step)
    return found


def value(text):
    """What a print command has shown, without the number of the value; None for anything else. A command that calls a function of the
    process lets other threads go on meanwhile, and what they print may come first."""
    found = re.search(r"^\$\d+ = (.*)$", text, re.M)
    return found and found[1]


class Stop:
    """One stop: locations and numbers of the breakpoints, pc, thread, and the output of each command."""

    def __init__(self, header, text):
        found = re.match(r"(\S+) pc (0x[0-9a-f]+) thread (\d+) lwp (\d+)", header)
        hit = [each.partition("=") for each in found[1].split(",") if each != "-"]
        self.breakpoints = [int(number) for number, _, _ in hit] + [location for _, _, location in hit]
        self.pc = int(found[2], 16)
        self.thread = int(found[3])
        self.lwp = int(found[4])
        parts = re.split(r"^--- (.*)\n", text, flags=re.M)
        self.output = dict(zip(parts[1::2], parts[2::2]))


def stops(output, *breakpoints):
    """The stops at these breakpoints, in order."""
    parts = re.split(r"^=== stop (.*)\n", output, flags=re.M)
    found = [Stop(header, text) for header, text in zip(parts[1::2], parts[2::2])]
    return [stop for stop in found if set(breakpoints) & set(stop.breakpoints)]


def whose(addresses, pc, offset=0):
    """The interpreter whose PyList_Append, as the host has printed it, is offset before pc; or None."""
    return next((n for n, a in addresses.items() if a + offset == pc), None)


def frames(backtrace):
    """Function names of a backtrace, innermost first, without the prefix that the C library's own names have
    (__GI___clone3)."""
    return re.findall(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(?:__GI_+)?(\S+)", backtrace, re.M)


def line_of(function):
    """Where a function of libpython begins."""
    return int(re.search(r"^Line (\d+) of", harness.gdb([f"info line {function}"], harness.LIBPYTHON), re.M)[1])


def offsets(location):
    """Where gdb's own breakpoint is in the library file, relative to PyList_Append. There are several places if the
    compiler has taken a part of a function out and put it back, as in time_sleep of some releases."""
    output = harness.gdb([f"break {location}", "info breakpoints", "print (long)&PyList_Append"], harness.LIBPYTHON)
    append = int(re.search(r"= (\d+)", output)[1])
    return {int(a, 16) - append for a in re.findall(r"^1\S*\s.*(0x[0-9a-f]{16}) in", output, re.M)}


def threads(output):
    """{LWP: backtrace} of "thread apply all bt"."""
    output = "".join(line for line in output.splitlines(keepends=True) if not HARMLESS.search(line))
    parts = re.split(r"^Thread \d+ \(.*?LWP (\d+)\).*\n", output, flags=re.M)
    return {int(lwp): text for lwp, text in zip(parts[1::2], parts[2::2])}


# What gdb says of cores in general: gcore's lack the vsyscall page and the command line, the kernel may know more
# registers than gdb, and a copy of the program has another time.
HARMLESS = re.compile(r"unexpected null characters|Memory read failed for corefile section|"
                      r"[Ss]ection `\.reg-xstate/|exec file is newer than core file|"
                      r"^warning: \d+\t\S+: No such file or directory$")  # source lines of libraries, since gdb 14


def complaints(output):
    """Lines in which gdb says that something went wrong with breakpoints or files."""
    return [line for line in output.splitlines() if not HARMLESS.search(line) and
            re.match(r"warning|Cannot|Error in re-setting|.*internal-error|Traceback \(most recent call last\)", line)]


def backtraces(count):
    return [f"gorgon bt -i {i}" for i in range(count)]


def words(count):
    """Every command that shows something, for `count` interpreters whose threads wait in steps of walker.py."""
    return ["gorgon list", "gorgon modules", "gorgon apply all gorgon whose $pc", *backtraces(count),
            *(f"gorgon print -i {i} walk_counter" for i in range(count)),
            *(f"gorgon print -i {i} (int) walk_plain_count" for i in range(count)),
            "gorgon apply all gorgon tls walk_depth", "gorgon apply all gorgon tls (int) walk_plain_tls",
            "gorgon apply all print local", "gorgon apply all info source", "gorgon symbols 1"]


def commands(asked):
    return [line for word in asked for line in (f"echo \\n=== {word}\\n", word, "echo \\n=== after\\n")]


def answers(output):
    """{word: answer}, without the numbers that gdb gives to threads and values, with threads in the order of their ids."""
    parts = re.split(r"^=== (.*)\n", output, flags=re.M)
    return {word: settled(text) for word, text in zip(parts[1::2], parts[2::2])}


def settled(text):
    text = "\n".join(line for line in text.splitlines() if not HARMLESS.search(line))
    text = re.sub(r"\b\d+ +\((?:Thread 0x\w+ \()?LWP (\d+)\)*(?: \"[^\"]*\"\))?", r"LWP \1", text)
    text = re.sub(r"^\$\d+", "$", text, flags=re.M)
    first, *threads = re.split(r"^(?=Thread LWP)", text, flags=re.M)
    return re.sub(r"\s*\n", "\n", first + "".join(sorted(thread + "\n" for thread in threads))).strip()
