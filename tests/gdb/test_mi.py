# SPDX-License-Identifier: MIT
"""gdb's machine interface, which cpptools of VS Code drives: the commands that it sends, with the set-up of docs/launch.json."""

import os
import queue
import re
import shlex
import subprocess
import threading
import unittest

import dap_client
import harness
import mixed_session

PROGRAM = "import gorgon, time; time.sleep(gorgon.interpreter / 8 + 0.125)"
FOLDER = os.path.join(harness.BUILD, "parity")
PARITY = os.path.join(harness.ROOT, "tests", "parity")
PROGRAM_OF_TURNS = os.path.join(PARITY, "program.py")
LINE = re.compile(r"line=\"(\d+)\"")


def first_line(function):
    """Where a breakpoint on a function of libpython is, behind its prologue."""
    output = harness.run(harness.GDB, "-nx", "-batch", "-ex", f"break {function}", "-ex", "info breakpoints", harness.LIBPYTHON).stdout
    return re.search(rf" in {function} at \S+:(\d+)", output)[1]


def place_of(text, file="cext.c"):
    """FILE:LINE of the line with this text in an extension's source."""
    return f"{file}:{harness.source_line(os.path.join(PARITY, file), text)}"


class Session:
    """A session of gdb."""

    def __init__(self):
        environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        self.process = subprocess.Popen([harness.GDB, "-nx", "-q", "--interpreter=mi"], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        self.lines, self.number, self.seen = queue.Queue(), 0, []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def until(self, pattern):
        """The first of the lines to come that begins with this text."""
        while True:
            line = self.lines.get(timeout=harness.TIMEOUT)
            self.seen.append(line)
            if line is None:
                raise AssertionError("gdb has ended:\n" + "\n".join(map(str, self.seen[-20:])))
            if re.match(pattern, line):
                return line

    def send(self, command):
        """Send a command. An editor need not wait for the answer."""
        self.number += 1
        self.process.stdin.write(f"{self.number}{command}\n")
        self.process.stdin.flush()
        return self.number

    def ask(self, command):
        return self.until(rf"{self.send(command)}\^").partition("^")[2]

    def set_up(self, scripts=True, name="cpptools: launch"):
        """Send what launch.json says, as cpptools gives it to gdb."""
        for command in dap_client.launch_json(name)["setupCommands"]:
            text = command["text"]
            if scripts or not text.startswith("source"):
                answer = self.ask(text if text.startswith("-") else f'-interpreter-exec console "{text}"')
                if not answer.startswith("done"):
                    raise AssertionError(f"{text}: {answer}")

    def stop(self):
        return self.until(r"\*stopped,reason=")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@harness.needs_gdb
class MachineInterface(unittest.TestCase):
    count = 3

    def begin(self):
        session = Session()
        self.addCleanup(session.close)
        session.set_up()
        session.ask(f"-file-exec-and-symbols {harness.HOST}")
        session.ask(f'-exec-arguments -n {self.count} "{PROGRAM}"')
        return session

    def test_a_line_of_code_that_is_not_loaded_yet_stops_in_each(self):
        session = self.begin()
        line = first_line("time_sleep")
        self.assertIn('addr="<PENDING>"', session.ask(f"-break-insert -f timemodule.c:{line}"))
        session.ask("-exec-run")
        values = []
        while "exited" not in (stop := session.stop()):
            self.assertIn('func="time_sleep"', stop)
            self.assertEqual(LINE.search(stop)[1], line)
            thread = re.search(r'thread-id="(\d+)"', stop)[1]
            frames = session.ask(f"-stack-list-frames --thread {thread} 0 1")
            self.assertEqual(re.findall(r'func="(\w+)"', frames)[0], "time_sleep")
            self.assertIn('name="timeout_obj",arg="1",type="PyObject *"',
                          session.ask(f"-stack-list-variables --thread {thread} --frame 0 --simple-values"))
            created = session.ask(f'-var-create --thread {thread} --frame 0 - * "((PyFloatObject *)timeout_obj)->ob_fval"')
            values.append(re.search(r'value="([\d.]+)"', created)[1])
            if len(values) == self.count:  # no other thread comes to a breakpoint meanwhile
                session.ask(f"-exec-next --thread {thread}")
                self.assertIn("end-stepping-range", session.stop())
            session.ask("-exec-continue")
        self.assertEqual(sorted(map(float, values)), [me / 8 + 0.125 for me in range(self.count)])


class Many(MachineInterface):
    """More interpreters than gdb gets full debug information of."""

    count = 9


@harness.needs_python_lines
@harness.needs_gdb
class PythonLines(mixed_session.Program, unittest.TestCase):
    """Breakpoints in files of Python and of C, in the commands that cpptools sends."""

    adapter = "cpptools"

    def session(self):
        session = Session()
        self.addCleanup(session.close)
        session.set_up(name="cpptools: Python lines")
        return session

    def stop(self, session):
        """(function, line, thread) of the next stop."""
        stop = session.stop()
        self.assertNotIn("exited", stop, session.seen[-20:])
        return re.search(r'func="([^"]+)"', stop)[1], int(LINE.search(stop)[1]), re.search(r'thread-id="(\d+)"', stop)[1]

    def check(self, session):
        """From a stop in main()."""
        function, line, thread = self.stop(session)
        self.assertEqual((function, line), ("shop.main", self.called))
        session.ask(f"-exec-step --thread {thread}")
        self.assertEqual(self.stop(session), ("shop.price", self.begin, thread))
        session.ask(f"-exec-next --thread {thread}")
        self.assertEqual(self.stop(session), ("shop.price", self.extra, thread))
        variables = session.ask(f"-stack-list-variables --thread {thread} --frame 0 --simple-values")
        self.assertRegex(variables, r'name="name",arg="1",type="const char \*",value="0x\w+ \\"\'item\'\\""')
        number = session.ask(f'-var-create --thread {thread} --frame 0 - * "number.n"')
        n = int(re.search(r'value="(\d+)"', number)[1]) + 10
        session.ask(f"-var-create --thread {thread} --frame 0 edited * n")
        session.ask(f"-var-assign edited {n}")
        session.ask("-var-delete edited")
        session.ask("-exec-continue")
        self.assertEqual(self.stop(session), ("work_count", self.end, thread))
        frames = session.ask(f"-stack-list-frames --thread {thread}")
        self.assertEqual(re.findall(r'func="(shop\.[^"]+)",file="[^"]+",fullname="([^"]+)"', frames),
                         [(name, self.path) for name in ("shop.price", "shop.main", "shop.<module>")])
        self.assertIn('func="_PyEval_EvalFrameDefault"', frames)
        self.assertIn(f'name="n",type="int",value="{n + 1}"', session.ask(f"-stack-list-variables --thread {thread} --frame 0 --simple-values"))
        session.ask("-exec-continue")

    def insert(self, session):
        return [session.ask(f"-break-insert -f {path}:{line}") for path, lines in self.breakpoints.items() for line in lines]

    def test_launch(self):
        session = self.session()
        session.ask(f"-file-exec-and-symbols {harness.GORGON}")
        session.ask(f"-exec-arguments {shlex.join(self.arguments)}")
        for place in self.insert(session):
            self.assertIn('addr="<PENDING>"', place)
        session.ask("-exec-run")
        for _ in (1, 2):
            self.check(session)
        self.assertIn("exited-normally", session.stop())

    def test_attach(self):
        with harness.Background(harness.GORGON, *self.arguments, "again", until="total") as program:
            session = self.session()
            session.ask(f"-target-attach {program.pid}")
            session.ask(f"-break-insert -f {self.path}:{self.called}")
            session.ask("-exec-continue")
            function, line, thread = self.stop(session)
            self.assertEqual((function, line), ("shop.main", self.called))
            for place in self.insert(session)[1:]:
                self.assertNotIn("PENDING", place)
            while function != "work_count":
                session.ask("-exec-continue")
                function, line, thread = self.stop(session)
            session.ask("-exec-continue")
            self.check(session)
            session.ask("-gdb-exit")


class Editor(Session):
    """What somebody does in an editor, in the commands that cpptools sends for it; and what the editor shows, without
    addresses and without what tells interpreters from threads."""

    def __init__(self, host, count):
        super().__init__()
        self.shown, self.thread, self.created = [], None, 0
        self.set_up(scripts=host == "gorgon")
        self.ask(f"-file-exec-and-symbols {FOLDER}/{host}/host")
        self.ask(f"-exec-arguments {count} {FOLDER}/modules {PROGRAM_OF_TURNS}")

    def show(self, what, text):
        self.shown.append((what, re.sub(r"0x[0-9a-f]+", "0x", text)))

    def frame_options(self, frame):
        return f"--thread {self.thread} --frame {frame}"

    def run(self, command):
        """One of the buttons, up to the next stop."""
        self.ask(f"-exec-{command}" + (f" --thread {self.thread}" if self.thread else ""))
        stop = self.stop()
        found = re.search(r'thread-id="(\d+)"', stop)
        self.thread = found and found[1]
        where = re.search(r'func="(\w+)"', stop)
        self.show(command, " ".join([re.search(r'reason="([^"]+)"', stop)[1], where[1] if where else "",
                                     *re.findall(r'line="\d+"|(?:old|new)="\d+"|name="\w+",value="\d+"', stop)]))
        return stop

    def break_at(self, location, condition=None):
        answer = self.ask("-break-insert -f " + (f'-c "{condition}" ' if condition else "") + location)
        return re.search(r'number="(\d+)"', answer)[1]

    def watch(self, expression, frame=0):
        """A row of the list of watches, and a hover."""
        quoted = expression.replace('"', '\\"')
        made = self.ask(f'-var-create {self.frame_options(frame)} - * "{quoted}"')
        found = re.search(r'type="([^"]*)"', made)
        value = re.search(r'value="((?:\\.|[^"])*)"', made)
        self.show(f"watch {expression}", f"{found[1]} {value[1] if value else ''}" if found else made)
        self.show(f"hover {expression}", self.ask(f'-data-evaluate-expression {self.frame_options(frame)} "{quoted}"'))
        return re.search(r'name="(var\d+)"', made)[1] if found else None

    def set(self, expression, value):
        """A value that is typed into the list of variables."""
        made = self.ask(f'-var-create {self.frame_options(0)} - * "{expression}"')
        variable = re.search(r'name="(var\d+)"', made)[1]
        self.show(f"{expression} = {value}", self.ask(f'-var-assign {variable} "{value}"'))
        self.ask(f"-var-delete {variable}")

    def locals(self):
        self.show("locals", self.ask(f"-stack-list-variables {self.frame_options(0)} --simple-values"))

    def stack(self, depth):
        frames = self.ask(f"-stack-list-frames --thread {self.thread} 0 {depth - 1}")
        self.show("stack", " ".join(re.findall(r'func="(\w+)"', frames)))


class Turns(unittest.TestCase):
    """A session of an editor shows in each interpreter what it shows of an ordinary host."""

    count = 3
    GLOBALS = ("counter", "calls", "depth", "inner_depth", "corner.x", "table", "sizeof(table)", "&counter", "corner.label[0]",
               "ratio * 2", "names[1]", "counter + n", "turn.number", "where->label", "cext_square(n)", "apply(cext_square, n)",
               "(long)PyLong_AsLong(PyLong_FromLong(counter))", "(char *)PyUnicode_AsUTF8(PyObject_Repr((PyObject *)&PyLong_Type))",
               '(int)strlen("seven77")', "no_such_name", "counter +")

    @classmethod
    def setUpClass(cls):
        cls.ordinary, cls.gorgon = (cls.session(host) for host in ("ordinary", "gorgon"))

    @classmethod
    def session(cls, host):
        editor = Editor(host, cls.count)
        try:
            cls.use(editor)
        finally:
            editor.close()
        return editor.shown

    @classmethod
    def use(cls, editor):
        sync = editor.break_at("turn_sync")
        middle = editor.break_at(place_of("middle of helper"))
        sleep = editor.break_at("time_sleep")
        editor.run("run")
        editor.set("turn.left", "8")
        editor.ask(f"-break-delete {sync}")
        for _ in range(3):  # turns of different threads, where there are
            editor.run("continue")
            editor.stack(2)
            editor.locals()
            for expression in cls.GLOBALS:
                editor.watch(expression)
            editor.watch("result", frame=1)
            editor.watch("counter", frame=2)
            editor.set("counter", "calls * 7")
            editor.watch("counter")
            editor.set("depth", "5")
            editor.watch("depth")
            for button in ("next", "next", "next", "step", "finish"):
                editor.run(button)
            editor.watch("calls")
            editor.run("continue")
            editor.watch("(long)PyLong_AsLong(PyLong_FromLong(41)) + 1")
            editor.stack(1)
        editor.ask(f"-break-delete {middle} {sleep}")
        area = editor.break_at(place_of("in Cube::area", "cxxext.cc"))
        editor.run("continue")
        for expression in ("*this", "overloaded(1)", "'overloaded(int)'(2)", "geometry::Shape::made", "hidden"):
            editor.watch(expression)
        editor.ask(f"-break-delete {area}")

        # Conditions with variables, of which each copy has its own.
        first = editor.break_at("cext_twice", "n == 5 && calls == n + 1")
        editor.run("continue")
        editor.watch("calls")
        editor.ask(f"-break-condition {first} calls == 7 && n > 5")
        editor.run("continue")
        editor.watch("n")
        editor.ask(f"-break-delete {first}")

        # Data breakpoints, by name and, as cpptools has them, by address.
        place = re.search(r'value="(0x[0-9a-f]+)', editor.ask(f'-data-evaluate-expression {editor.frame_options(0)} "&counter"'))[1]
        for expression in ("counter", f"*(int*)({place})"):
            number = re.search(r'number="(\d+)"', editor.ask(f"-break-watch {expression}"))[1]
            editor.run("continue")
            editor.watch("sum")
            editor.ask(f"-break-delete {number}")

        # Commands that are typed into the debug console, after "-exec".
        for command in ("print counter", "output counter", "call cext_square(n)", "print calls"):
            editor.send(f'-interpreter-exec console "{command}"')
            editor.show(command, editor.until(r'[~]"(\$\d+ = )?\d+').partition(" = ")[2] or editor.seen[-1])
            editor.until(rf"{editor.number}\^done")

    def test_everything_is_as_in_an_ordinary_host(self):
        for ordinary, gorgon in zip(self.ordinary, self.gorgon):
            with self.subTest(ordinary[0]):
                self.assertEqual(gorgon, ordinary)
        self.assertEqual(len(self.gorgon), len(self.ordinary))
        self.assertGreater(len(self.ordinary), 150)

    def test_the_ordinary_host_has_the_values(self):
        """The ordinary host shows something, so that there is something to compare with."""
        shown = [text for what, text in self.ordinary if what == "watch counter"]
        self.assertEqual(shown[0], "int 10")
        self.assertEqual([text for text in shown if text.startswith("int ")], shown)


class OfOne(Turns):
    count = 1


class OfMany(Turns):
    count = 9


@harness.needs_gdb
class Others(unittest.TestCase):
    """What an editor sends less often, in the frame of an interpreter that is not the first."""

    @classmethod
    def setUpClass(cls):
        cls.editor = editor = Editor("gorgon", 3)
        cls.addClassCleanup(editor.close)
        sync = editor.break_at("turn_sync")
        helper = editor.break_at("helper")
        editor.run("run")
        editor.set("turn.left", "50")
        editor.ask(f"-break-delete {sync}")
        editor.run("continue")
        editor.run("continue")
        editor.ask(f"-break-delete {helper}")

    def whose(self, address):
        return re.search(r'value="(-?\d+)"', self.editor.ask(f'-data-evaluate-expression "$gorgon_interp({address})"'))[1]

    def test_threads_have_the_names_of_their_interpreters(self):
        names = re.findall(r'target-id="[^"]*",name="([^"]*)"', self.editor.ask("-thread-info"))
        lines = ["gorgon-lines"] if harness.PYTHON_LINES else []
        self.assertEqual(names, ["host", *(f"host [interp {number}]" for number in range(3)), *lines])

    def test_commands_that_do_not_wait_for_answers_keep_their_order(self):
        numbers = [self.editor.send(command) for command in
                   ("-exec-next", "-data-evaluate-expression &counter", "-var-create - @ &counter", "-thread-info")]
        self.editor.until(rf"{numbers[0]}\^running")
        self.editor.stop()
        answers = [self.editor.until(rf"{number}\^done") for number in numbers[1:]]
        for answer in answers[:2]:
            self.assertIn("<counter>", answer)
            self.assertEqual(self.whose(re.search(r"0x[0-9a-f]+", answer)[0]), "1")

    def test_a_jump_stays_in_the_copy(self):
        place = place_of("helper calls cext_twice")
        number = self.editor.break_at(place)
        self.editor.ask(f"-exec-jump {place}")
        self.assertIn(f'line="{place.partition(":")[2]}"', stop := self.editor.stop())
        self.assertEqual(self.whose(re.search(r'addr="(0x[0-9a-f]+)"', stop)[1]), "1")
        self.editor.ask(f"-break-delete {number}")

    def test_memory_by_an_expression_is_that_of_the_copy(self):
        self.editor.ask('-data-evaluate-expression "counter = 0x01020304"')
        self.assertIn('contents="04030201"', self.editor.ask("-data-read-memory-bytes &counter 4"))

    def test_a_line_of_gdbs_command_line(self):
        self.editor.send("output $gorgon_interp(&counter)")
        self.assertEqual(self.editor.until('~"-?[0-9]'), '~"1"')
        self.editor.send("x/1dw &calls")
        self.assertRegex(self.editor.until('~".*[0-9]'), r"<calls>")

    def test_what_is_refused_is_refused_with_its_reason(self):
        answer = self.editor.ask('-data-evaluate-expression "overloaded(1)"')  # the function is in another file than the frame
        self.assertRegex(answer, r"^error,msg=.*overloaded is several functions; say which, like 'overloaded\(")

    def test_gdb_goes_when_the_editor_closes_the_pipe(self):
        other = Session()
        self.addCleanup(other.close)
        other.set_up()
        other.process.stdin.close()
        self.assertEqual(other.process.wait(harness.TIMEOUT), 0)


@harness.needs_gdb
class Attached(unittest.TestCase):
    """cpptools attaches, and has what it has of a program that it has started."""

    def test_values_of_each_interpreter(self):
        host = harness.Background(harness.HOST, "-n", 3, "import gorgon, time; a = [0] * gorgon.interpreter; time.sleep(600)", until="",
                                  asleep=3)
        self.addCleanup(host.stop)
        session = Session()
        self.addCleanup(session.close)
        session.set_up()
        self.assertTrue(session.ask(f"-target-attach {host.pid}").startswith("done"))
        threads = re.findall(r'id="(\d+)",target-id="[^"]*",name="\w+ \[interp (\d+)\]"', session.ask("-thread-info"))
        self.assertEqual(sorted(number for _, number in threads), ["0", "1", "2"])
        for thread, number in threads:
            for expression in ("&_PyRuntime", "PyObject_Repr"):
                made = session.ask(f'-var-create --thread {thread} --frame 0 - * "$gorgon_interp({expression})"')
                self.assertIn(f'value="{number}"', made)


if __name__ == "__main__":
    unittest.main()
