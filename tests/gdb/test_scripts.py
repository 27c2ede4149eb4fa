# SPDX-License-Identifier: MIT
"""gdb with the scripts: list, modules, whose, labels, $gorgon_interp and py-bt, for each copy."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
EVERY = range(COUNT)
IS_NAN = "_decimal_Decimal_is_nan" if harness.IS_3_15 else "dec_mpd_isnan"  # static, of an extension
# What a user sees of errors is one line; this never.
TRACEBACK = re.compile(r'Traceback \(most recent call last\)|Python Exception|File ".*/gorgon_(?:gdb|shared)/')

AT_START = ["gorgon list", "gorgon modules", "gorgon modules 1", "gorgon modules 9", "gorgon modules one",
            "gorgon modules 1 2", "gorgon list 3", "gorgon list -v 3", "gorgon whose", "gorgon whose no_such_name", "gorgon whose 1",
            "gorgon whose PyList_Append", "complete gorgon modules 1", "help gorgon whose", "help gorgon",
            "print $gorgon_interp()", "print $_gorgon_interp", "print $gorgon_interp(1, 2)",
            "print $gorgon_interp(main)", "bt"]
AT_SLEEP = ["gorgon list", "gorgon whose $pc", "gorgon whose timeout_obj->ob_type",
            "print $gorgon_interp()", "print $_gorgon_interp", "print $gorgon_interp($pc)", "bt", "py-bt",
            "frame function _PyEval_EvalFrameDefault", "py-list", "py-locals", "py-print me", "py-up", "frame function run_interpreter", "print $gorgon_interp() + 10",
            "disable frame-filter global gorgon", "bt 2", "enable frame-filter global gorgon"]


def sleep_offset():
    """From PyList_Append to time_sleep, in any copy."""
    output = harness.gdb(["print (long)&time_sleep - (long)&PyList_Append"], harness.LIBPYTHON)
    return int(re.search(r"= (-?\d+)", output)[1])


def number(text):
    found = re.search(r"^\$\d+ = (-?\d+)$", text, re.M)  # of a core gdb may complain first
    return int(found[1]) if found else None


def rows(text):
    """A table without its heading, as lists of words."""
    lines = text.splitlines()
    return [line.split() for line in lines[1:] if re.match(r"\d", line)]


class Case(unittest.TestCase):
    def assert_clean(self, output):
        self.assertNotRegex(output, TRACEBACK)


@harness.needs_gdb
class Live(Case):
    @classmethod
    def setUpClass(cls):
        cls.output = harness.gdb(
            ["break time_sleep", "break host_created", f"break {IS_NAN} if $gorgon_interp() == 1", session.LOOP,
             "run", f"python drive({{'time_sleep': {AT_SLEEP!r}, 'host_created': {AT_START!r}, {IS_NAN!r}: []}})"],
            harness.HOST, "-n", COUNT, session.code(), script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.start = session.stops(cls.output, "host_created")[0].output
        cls.sleeps = {}
        offset = sleep_offset()
        for stop in session.stops(cls.output, "time_sleep"):
            cls.sleeps[session.whose(cls.addresses, stop.pc, offset)] = stop
        # Without this the loops below could be empty.
        assert sorted(cls.sleeps) == list(EVERY), cls.output

    def test_session_is_whole(self):
        self.assertIn("exited normally", self.output)
        # At the end gdb says this of any breakpoint that was pending with a condition.
        expected = re.escape(f'Error in re-setting breakpoint 3: Function "{IS_NAN}" not defined.')
        self.assertEqual([line for line in session.complaints(self.output) if not re.fullmatch(expected, line)], [])
        self.assert_clean(self.output)

    def test_list_shows_each_interpreter_in_order(self):
        table = rows(self.start["gorgon list"])
        self.assertEqual([row[0] for row in table], ["0", "1", "2"])
        self.assertTrue(self.start["gorgon list"].startswith("Num  Python  Objects  Thread  libpython"))
        for row in table:
            self.assertEqual(row[1], harness.VERSION)
            self.assertGreaterEqual(int(row[2]), 1)
            self.assertEqual((row[3], row[5]), ("-", "live"))  # no thread runs in it yet
            start, end = (int(a, 16) for a in row[4].split("-"))
            self.assertTrue(start < self.addresses[int(row[0])] < end)

    def test_list_names_the_thread_that_runs_each(self):
        for i, stop in self.sleeps.items():
            row = rows(stop.output["gorgon list"])[i]
            self.assertEqual(" ".join(row[3:6]), f"{stop.thread} (LWP {stop.lwp})")

    def test_modules_shows_objects_with_ranges_and_debug_info(self):
        table = rows(self.start["gorgon modules"])
        self.assertEqual([row[0] for row in table], sorted(row[0] for row in table))
        pythons = {int(row[0]): row for row in table if row[1].startswith(f"libpython{harness.VERSION}.so")}
        self.assertEqual(sorted(pythons), list(EVERY))
        for i, row in pythons.items():
            start, end = (int(a, 16) for a in row[2].split("-"))
            self.assertTrue(start < self.addresses[i] < end)
            self.assertEqual(self.addresses[i] - int(row[3], 16), self.addresses[0] - int(pythons[0][3], 16))
            self.assertRegex(" ".join(row[4:]), harness.LIBPYTHON_DEBUG)

    def test_modules_of_one_interpreter(self):
        self.assertEqual({row[0] for row in rows(self.start["gorgon modules 1"])}, {"1"})
        everything = rows(self.start["gorgon modules"])
        self.assertEqual(rows(self.start["gorgon modules 1"]), [row for row in everything if row[0] == "1"])

    def test_mistakes_get_one_clear_line(self):
        for command, text in (
                ("gorgon modules 9", "gorgon modules: no interpreter 9; there are 0, 1, 2"),
                ("gorgon modules one", "gorgon modules: no interpreter one; there are 0, 1, 2"),
                ("gorgon modules 1 2", 'gorgon modules: too many arguments; see "help gorgon modules"'),
                ("gorgon list 3", 'gorgon list: 3: -v expected; see "help gorgon list"'),
                ("gorgon list -v 3", 'gorgon list: too many arguments; see "help gorgon list"'),
                ("gorgon whose", 'gorgon whose: an ADDRESS expected; see "help gorgon whose"'),
                ("gorgon whose no_such_name", 'gorgon whose: No symbol "no_such_name" in current context.'),
                ("print $gorgon_interp(1, 2)", "$gorgon_interp: one ADDRESS at most")):
            with self.subTest(command):
                lines = self.start[command].splitlines()
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(text, lines[0])

    def test_whose_names_interpreter_library_function_and_line(self):
        for i, stop in self.sleeps.items():
            self.assertRegex(stop.output["gorgon whose $pc"], rf"^{stop.pc:#x}: interpreter {i}, "
                             rf"{harness.SONAME_RE}, time_sleep\+0, timemodule\.c:\d+\n$")

    def test_whose_knows_data_of_each_copy(self):
        for i, stop in self.sleeps.items():
            self.assertRegex(stop.output["gorgon whose timeout_obj->ob_type"],
                             rf"^0x\w+: interpreter {i}, {harness.SONAME_RE}, PyFloat_Type\+0\n$")

    def test_whose_of_other_addresses(self):
        self.assertEqual(self.start["gorgon whose 1"], "0x1 is in no private object\n")
        self.assertRegex(self.start["gorgon whose PyList_Append"],
                         rf"^0x\w+: interpreter \d, {harness.SONAME_RE}, PyList_Append\+0")

    def test_interp_function_and_variable(self):
        for i, stop in self.sleeps.items():
            for command in ("print $gorgon_interp()", "print $_gorgon_interp", "print $gorgon_interp($pc)"):
                self.assertEqual(number(stop.output[command]), i, command)
            # run_interpreter is code of the host, and is not below private code.
            self.assertEqual(number(stop.output["print $gorgon_interp() + 10"]), 9)
        for command in ("print $gorgon_interp()", "print $_gorgon_interp", "print $gorgon_interp(main)"):
            self.assertEqual(number(self.start[command]), -1, command)

    def test_interp_function_in_a_condition_stops_in_one_copy(self):
        lwps = {stop.lwp for stop in session.stops(self.output, IS_NAN)}
        self.assertEqual(lwps, {self.sleeps[1].lwp})

    def test_backtrace_labels_private_frames_only(self):
        for i, stop in self.sleeps.items():
            lines = [line for line in stop.output["bt"].splitlines() if line.startswith("#")]
            labels = [re.search(r" from (\S+ \[interp \d+\]) \(", line) for line in lines]
            names = session.frames(stop.output["bt"])
            last = names.index("Py_RunMain")
            self.assertEqual(names[0], "time_sleep")
            found = {label and label[1] for name, label in zip(names, labels[:last + 1]) if not re.match(r"python_(?:frame|code)$|program\.|<string>\.", name)}
            self.assertEqual(found, {f"{harness.SONAME} [interp {i}]"})
            self.assertEqual(set(labels[last + 1:]), {None})
            self.assertEqual(names[-2:], ["start_thread", "clone3"])
        self.assertNotIn("[interp", self.start["bt"])

    def test_labels_can_be_switched_off(self):
        for stop in self.sleeps.values():
            self.assertNotIn("[interp", stop.output["bt 2"])

    def test_py_bt_shows_python_frames_of_each_copy(self):
        for stop in self.sleeps.values():
            text = stop.output["py-bt"]
            # Some compilers have left nothing of the call but a jump.
            self.assertEqual("built-in method sleep" in text, "cfunction_vectorcall" in stop.output["bt"])
            self.assertRegex(text, rf'File "{session.PROGRAM}", line {session.STOP_LINE}, in inner\n'
                             r"    time\.sleep\(0\.125")
            self.assertLess(text.index("in inner"), text.index("in <module>"))

    def test_py_list_shows_the_line(self):
        for stop in self.sleeps.values():
            self.assertRegex(stop.output["py-list"], rf">{session.STOP_LINE}\s+time\.sleep\(0\.125")
            self.assertRegex(stop.output["py-up"], r"#\d+ <built-in method exec of |file <string>, line 1, in <module> ")

    def test_py_locals_and_py_print_have_values_of_their_interpreter(self):
        for i, stop in self.sleeps.items():
            text = stop.output["py-locals"]
            self.assertIn(f"local = ['copy', {i}]\n", text)
            self.assertIn("depth = 3\n", text)
            # If gdb took another copy's mark of removed entries, there would be one element more.
            odd = re.search(r"^odd = \{(.*)\}$", text, re.M)[1]
            self.assertEqual(sorted(map(int, odd.split(", "))), [2, 30 + i])
            self.assertEqual(stop.output["py-print me"], f"global 'me' = {i}\n")

    def test_help_and_completion(self):
        for word in ("gorgon list", "gorgon modules", "gorgon whose"):
            self.assertRegex(self.start["help gorgon"], rf"\n{word} -- \w+")
        self.assertIn("Usage: gorgon whose ADDRESS", self.start["help gorgon whose"])
        self.assertEqual(self.start["complete gorgon modules 1"], "gorgon modules 1\n")


@harness.needs_gdb
class Afterwards(Case):
    """Attached, and from a core; the threads sleep in libc, called by their interpreter."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        core = os.path.join(cls.folder.name, "core")
        commands = ["gorgon list", "gorgon modules", "complete gorgon modules ",
                    "thread apply all -s print $gorgon_interp()", "echo \\n=backtraces\\n",
                    "thread apply all bt", "echo \\n=python\\n", "thread apply all py-bt"]
        with harness.Background(harness.HOST, "-n", COUNT, session.code(wait=600), until=r"(?s)(ready.*){3}", asleep=3) as host:
            cls.addresses = harness.host_addresses(host.output)
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.gdb(commands, script=True, options=["-p", str(host.pid)])
            # Here everything is there already when the scripts are loaded, and they are loaded twice.
            cls.late = harness.gdb([f"source {harness.GDB_SCRIPT}"] * 2 + commands, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.gdb([f"core-file {core}.{host.pid}", *commands], harness.HOST, script=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, output):
        self.assert_clean(output)
        head, _, rest = output.partition("\n=backtraces\n")
        native, _, python = rest.partition("\n=python\n")
        table = re.findall(rf"^(\d)\s+{harness.VERSION}\s+\d+\s+\d+ \(LWP (\d+)\)\s+(0x\w+)-(0x\w+)\s+live\s+-$", head, re.M)
        self.assertEqual([row[0] for row in table], ["0", "1", "2"], head)
        interps = {lwp: number(text) for lwp, text in session.threads(head).items()}
        backtraces, pythons = session.threads(native), session.threads(python)
        for i, lwp, start, end in ((int(i), int(lwp), int(s, 16), int(e, 16)) for i, lwp, s, e in table):
            self.assertTrue(start < self.addresses[i] < end)
            self.assertEqual(interps[lwp], i)
            self.assertRegex(backtraces[lwp], rf"time_sleep from {harness.SONAME_RE} \[interp {i}\] \(")
            self.assertEqual(set(re.findall(r"\[interp (\d)\]", backtraces[lwp])), {str(i)})
            self.assertEqual(session.frames(backtraces[lwp])[-2:], ["start_thread", "clone3"])
            self.assertIn(f'File "{session.PROGRAM}", line {session.WAIT_LINE}, in <module>\n', pythons[lwp])
        (main,) = set(backtraces) - {int(row[1]) for row in table}
        self.assertEqual(interps[main], -1)
        self.assertIn(session.DECIMAL, head)
        self.assertIn("".join(f"\ngorgon modules {i}" for i in EVERY) + "\n", head)

    def test_attached(self):
        self.check(self.attached)

    def test_attached_before_the_scripts_are_loaded(self):
        self.check(self.late)

    def test_core(self):
        self.check(self.core)


def poke(offset, value, base="(char *)&gorgon_debug_root", kind="unsigned long"):
    return f"set variable *({kind} *)({base} + {offset}) = {value}"


# A reader keeps what it has read while the sequence number stays, and namespaces that are not among those
# that have changed; offsets are those of debug_root.h.
CHANGED = ("set variable *(unsigned long *)((char *)&gorgon_debug_root + 16) += {}, "
           "*(unsigned long *)((char *)&gorgon_debug_root + 80) = 0")
NS = "*(char **)((char *)&gorgon_debug_root + 40)"
OBJECT = f"*(char **)({NS} + 32)"


@harness.needs_gdb
class Garbage(Case):
    """The process has written over what the scripts read."""

    CASES = {
        "magic": ([poke(0, "'X'", kind="char")],
                  r"^error: gorgon list: gorgon_debug_root does not begin with GORGONDR"),
        "unused": ([poke(0, 0), poke(8, 0, kind="int")], r"^error: gorgon list: no interpreter has been created"),
        "version": ([poke(8, 99, kind="int")], r"^error: gorgon list: gorgon_debug_root has version 99; .*version 1$"),
        "size": ([poke(32, 3, kind="int")], r"^error: gorgon list: gorgon_debug_root is damaged: namespace size 3"),
        "head": ([poke(40, 4096)], r"^Damaged: the list of namespaces breaks off: cannot read 96 bytes at 0x1000\n"
                 r"No interpreters\.$"),
        "loop": ([poke(0, f"(unsigned long){NS}", base=NS)],
                 r"^Damaged: the list of namespaces comes back to 0x\w+\nNum .*\n0 .* live +-$"),
        "objects": ([poke(0, f"(unsigned long){OBJECT}", base=OBJECT)],
                    r"^Damaged: the list of objects of interp 0 comes back to 0x\w+\nNum .*\n0 .*\n1 .*\n2 .*$"),
        "name": ([poke(24, 8, base=OBJECT)], r"^Damaged: cannot read \d+ bytes at 0x8\nNum .*\n0 .*\n1 .*\n2 .*$"),
        "long name": ([poke(32, 0x7fffffff, base=OBJECT, kind="int")],
                      r"^Damaged: a name of 2147483647 bytes at 0x\w+\nNum .*\n0 .*\n1 .*\n2 .*$"),
        "odd": (["set variable *(unsigned long *)((char *)&gorgon_debug_root + 16) += 1"],
                r"^The list is being changed at this moment; what follows may be incomplete\.\nNum .*\n0 .*\n1 .*\n2 "),
    }

    @classmethod
    def setUpClass(cls):
        # Each case in a checkpoint of its own would be nicer, but gdb cannot fork threads: save and restore bytes.
        lines = ["break host_created", "run", "python",
                 "def run(commands):",
                 "    for command in commands:",
                 "        try:",
                 "            gdb.execute(command)",
                 "        except gdb.error as error:",
                 "            print('error: %s' % error)",
                 "def copies():",
                 "    i = gdb.selected_inferior()",
                 f"    for at, size in (('(char *)&gorgon_debug_root', 88), ('{NS}', 96), ('{OBJECT}', 136)):",
                 "        a = int(gdb.parse_and_eval(at))",
                 "        yield a, i.read_memory(a, size).tobytes()",
                 "end"]
        for i, (name, (commands, _)) in enumerate(cls.CASES.items(), 1):
            lines += ["python saved = list(copies())", f"python print('=== {name}')",
                      f"python run({[*commands, CHANGED.format(2 * i), 'gorgon list', 'bt 1']!r})",
                      "python [gdb.selected_inferior().write_memory(a, b) for a, b in saved]"]
        cls.output = harness.gdb([*lines, "python print('=== healthy')", CHANGED.format(100), "gorgon list"],
                                 harness.HOST, "-n", COUNT, "pass", script=True)
        parts = re.split(r"^=== (.*)\n", cls.output, flags=re.M)
        cls.parts = dict(zip(parts[1::2], parts[2::2]))

    def test_each_damage_is_said_and_nothing_breaks(self):
        for name, (_, expected) in self.CASES.items():
            with self.subTest(name):
                text, _, frame = self.parts[name].partition("#0 ")
                self.assertRegex(text.rstrip("\n"), re.compile(expected, re.M))
                if expected.startswith("^error"):
                    self.assertEqual(len(text.splitlines()), 1, text)
                self.assertIn("host_created (count=", frame)
        self.assert_clean(self.output)

    def test_the_process_is_readable_again(self):
        self.assertEqual([row[0] for row in rows(self.parts["healthy"])], ["0", "1", "2"])


@harness.needs_gdb
class Without(Case):
    """Programs that have nothing to show."""

    def one_line(self, commands, *program):
        output = harness.gdb([session.LOOP, "python", "def run(command):", "    try:", "        gdb.execute(command)",
                              "    except gdb.error as error:", "        print('error: %s' % error)", "end", *commands],
                             *program, script=True)
        self.assert_clean(output)
        return re.findall(r"^error: .*", output, re.M)

    def test_not_running(self):
        self.assertEqual(self.one_line(["python run('gorgon list')"], harness.HOST),
                         ["error: gorgon list: the program is not running, and there is no core file"])

    def test_a_program_without_gorgon(self):
        expected = "this process does not use Gorgon: there is no gorgon_debug_root"
        self.assertEqual(
            self.one_line(["starti", *(f"python run('{c}')" for c in (
                "gorgon list", "gorgon modules", "gorgon whose $pc", "bt", "print $gorgon_interp()"))], "/bin/true"),
            [f"error: gorgon {word}: {expected}" for word in ("list", "modules", "whose")])

    def test_a_stripped_libgorgon_is_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            host = harness.copy_stripped(folder)
            output = harness.gdb(["break gorgon_interp_destroy", "run", "gorgon list"], host, "-n", COUNT, "pass",
                                 script=True)
        self.assertEqual([row[0] for row in rows(output[output.index("Num  Python"):])], ["0", "1", "2"])
        self.assert_clean(output)

    def test_before_the_first_interpreter(self):
        self.assertEqual(self.one_line(["break main", "run", "python run('gorgon list')"], harness.HOST, "pass"),
                         ["error: gorgon list: no interpreter has been created in this process yet"])


@harness.needs_gdb
class AutoLoad(Case):
    """gdb finds the scripts by itself; and CPython's helper is read only where the user allows it."""

    SCRIPTS = os.path.dirname(harness.GDB_SCRIPT)
    COMMANDS = ["break host_created", "run", "gorgon list", "info auto-load python-scripts"]

    def copy_scripts(self, folder):
        for name in "gdb", "debuggers":
            shutil.copytree(os.path.join(harness.ROOT, name), os.path.join(folder, name), ignore=shutil.ignore_patterns("__pycache__"))

    def installed(self, folder):
        """A tree as "make install" makes it, around the library as it was built."""
        libdir = os.path.dirname(os.path.realpath(os.path.join(harness.BUILD, "libgorgon.so.0")))
        stubs = os.path.join(folder, "share/gdb/auto-load") + libdir
        os.makedirs(stubs)
        shutil.copy(os.path.join(self.SCRIPTS, "libgorgon-gdb.py"), os.path.join(stubs, "libgorgon.so.0-gdb.py"))
        self.copy_scripts(os.path.join(folder, "share/gorgon"))
        return ["-iex", f"add-auto-load-scripts-directory {folder}/share/gdb/auto-load",
                "-iex", f"add-auto-load-safe-path {folder}"]

    def assert_loaded(self, output):
        self.assertEqual([row[0] for row in rows(output[output.index("Num  Python"):])], ["0"], output)
        self.assertRegex(output, r"Yes\s+\S*libgorgon\.so\.0-gdb\.py")
        self.assert_clean(output)

    def test_installed_stub_finds_the_scripts(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assert_loaded(harness.gdb(self.COMMANDS, harness.HOST, "-n", 1, "pass",
                                           options=self.installed(folder)))

    def test_stub_beside_the_library_of_a_build_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            build = os.path.join(folder, "build")
            os.mkdir(build)
            for name in ("host", "libgorgon.so.0", "libjitreg.so.0"):
                shutil.copy(os.path.join(harness.BUILD, name), build)
            shutil.copy(os.path.join(self.SCRIPTS, "libgorgon-gdb.py"), os.path.join(build, "libgorgon.so.0-gdb.py"))
            self.copy_scripts(folder)
            self.assert_loaded(harness.gdb(self.COMMANDS, os.path.join(build, "host"), "-n", 1, "pass",
                                           options=["-iex", f"add-auto-load-safe-path {folder}"]))

    def helper(self, *settings):
        return harness.gdb([*settings, "break host_created", "run", "help py-bt"], harness.HOST, "-n", 1, "pass",
                           script=True)

    def test_helper_of_python_is_loaded_by_gdbs_rule(self):
        self.assertIn("Display the current python frame", self.helper())

    def test_helper_is_declined_by_the_safe_path(self):
        output = self.helper("set auto-load safe-path /nowhere")
        self.assertRegex(output, rf"gorgon: \S+/{harness.SONAME_RE}-gdb\.py is not loaded: "
                         r"your auto-load safe-path declines it\. To allow it: add-auto-load-safe-path \S+\n")
        self.assertIn('Undefined command: "py-bt"', output)

    def test_helper_is_not_loaded_when_the_user_has_switched_it_off(self):
        output = self.helper("set auto-load python-scripts off")
        self.assertIn('Undefined command: "py-bt"', output)


@harness.needs_gdb
class Elsewhere(Case):
    def test_a_process_without_private_code_has_gdbs_own_backtrace(self):
        # gdb cannot follow the stack, and a frame has no name.
        lost = ["starti", "set var $pc = 0", "set var $sp = 16", "echo bt:\\n", "bt"]
        plain, scripts = (harness.gdb(lost, "/bin/true", script=script).partition("bt:\n")[2] for script in (False, True))
        self.assertRegex(plain, r"(?s)\?\? \(\).*Backtrace stopped: ")
        self.assertEqual(scripts, plain)


@harness.needs_gdb
class Steps(Case):
    def test_a_step_follows_the_stack_only_as_far_as_it_has_changed(self):
        # Each frame takes gdb a tenth of a millisecond, at each step.
        outermost = "gorgon_gdb.symbols._last_stack[2][-1]"
        output = harness.gdb(["break time_sleep", "run", "next", f"python import gorgon_gdb.symbols; outermost = {outermost}",
                              "next", f"python print('next', outermost is {outermost})",
                              "finish", f"python print('finish', outermost is {outermost})",
                              "python print('frames', [frame.name() for frame, _ in gorgon_gdb.symbols._last_stack[2]][-2:])"],
                             harness.HOST, "-l", "-n", 1, "import time; time.sleep(0.01)", script=True)
        for line in ("next True", "finish True", r"frames \['start_thread', '(__GI___)?clone3'\]"):
            self.assertRegex(output, rf"(?m)^{line}$")


if __name__ == "__main__":
    unittest.main()
