# SPDX-License-Identifier: MIT
"""The gorgon command's options: help, manual and completion agree; python3's options; doctor and cache."""

import fcntl
import glob
import json
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import termios
import unittest

import harness
import pythons
from harness import BUILD, GDB, GORGON, LIBPYTHON, PYTHON3, ROOT, SANITIZED, SANITIZER_ENV, TIMEOUT, VENV_PYTHON, run

COMMANDS = ["run", "exec", "info", "doctor", "cache", "demo"]


def gorgon(*args, **kwargs):
    return run(GORGON, *args, **kwargs)


def options_of(text):
    """Options as a page or a help text names them."""
    return set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", text))


# CPython 3.13 and newer have a prompt that redraws the line, and 3.14 prints tracebacks in colours.
PLAIN_PROMPT = {"PYTHON_BASIC_REPL": "1", "PYTHON_COLORS": "0"}


class Terminal:
    """A program at a terminal; ask() types a text and waits for another."""

    def __init__(self, *command, **env):
        self.terminal, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, **SANITIZER_ENV, "TERM": "xterm", **env})
        os.close(slave)

    def wait_for(self, pattern):
        """Wait for a text; returns what came before it."""
        while not (found := re.search(pattern, self.text)):
            if not select.select([self.terminal], [], [], TIMEOUT)[0]:
                raise AssertionError(f"no {pattern!r} in:\n{self.text}")
            try:
                data = os.read(self.terminal, 65536)
            except OSError:  # the program has ended
                data = b""
            if not data:
                raise EOFError(f"ended without {pattern!r}:\n{self.text}")
            self.text += data.decode("utf-8", "replace")
        before, self.text = self.text[:found.start()], self.text[found.end():]
        return before

    def ask(self, text, pattern):
        os.write(self.terminal, text.encode())
        return self.wait_for(pattern)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


def screen_of(output):
    """What a terminal of endless width shows after `output`: its lines, with overwritten and erased text gone."""
    lines, column = [""], 0
    for piece in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+", output):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            lines.append("")
        elif piece == "\x1b[K":
            lines[-1] = lines[-1][:column]
        else:
            lines[-1] = lines[-1][:column].ljust(column) + piece + lines[-1][column + len(piece):]
            column += len(piece)
    return [line for line in lines if line]


class Progress(unittest.TestCase):
    """The line of progress is seen while interpreters are created, and nothing of it is left beside programs' output."""

    def shown(self, *words):
        with Terminal(GORGON, "run", *words) as terminal:
            with self.assertRaises(EOFError):
                terminal.wait_for(r"(?!)")
            return terminal.text

    def test_output_begins_on_a_line_of_its_own(self):
        """The line is shown after half a second, in which a quick machine makes many interpreters."""
        for count in 40, 80, 160, 320:
            output = self.shown("--isolate", "copy", "-n", str(count), "-c", "print('out')")
            self.assertEqual(screen_of(output), ["out"] * count)
            if f"gorgon: {count} of {count} interpreters created" in output:
                break
        else:
            self.fail("no progress was shown")

    def test_programs_have_the_terminal(self):
        output = self.shown("-n", "4", "-c", "import time; print('a', end='', flush=True); time.sleep(0.7)")
        self.assertEqual(screen_of(output), ["aaaa"])

    def test_an_error_begins_on_a_line_of_its_own(self):
        output = self.shown("--isolate", "copy", "-n", "40", "-c", "raise SystemExit('no')")
        self.assertEqual(screen_of(output), ["no"] * 40)


class Help(unittest.TestCase):
    def test_each_command_has_its_own(self):
        overview = gorgon("--help")
        self.assertEqual((overview.stderr, overview.returncode), ("", 0))
        self.assertEqual(re.findall(r"^  (\w+) ", overview.stdout, re.M), COMMANDS)
        for command in COMMANDS:
            with self.subTest(command=command):
                texts = {gorgon(*words).stdout for words in ([command, "--help"], [command, "-h"], ["help", command])}
                self.assertEqual(len(texts), 1, texts)
                self.assertTrue(texts.pop().startswith(f"Usage: gorgon {command} "))

    def test_manual_and_page_name_the_same_options(self):
        with open(f"{BUILD}/man/gorgon.1") as file:
            manual = file.read().replace("\\-", "-")
        sections = dict(re.findall(r"^\.SH GORGON (\w+)\n(.*?)(?=^\.SH)", manual, re.M | re.S))
        self.assertEqual([name.lower() for name in sections], COMMANDS)
        with open(f"{ROOT}/docs/command.md") as file:
            page = options_of(file.read())
        for command in COMMANDS:
            options = options_of(gorgon(command, "--help").stdout) - {"--help"}
            with self.subTest(command=command):
                self.assertEqual(options_of(sections[command.upper()]), options)
                self.assertEqual(options - page, set())

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_manual_is_well_formed(self):
        result = run("groff", "-man", "-ww", "-z", "-Tutf8", f"{BUILD}/man/gorgon.1")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("", "", 0))


class Options(unittest.TestCase):
    def test_python_s_options_mean_what_they_mean_there(self):
        code = ("import sys; print(sys.argv, sys.flags.optimize, sys.flags.dev_mode, sys.warnoptions, sys.flags.isolated, "
                "sys.flags.no_site, sys.dont_write_bytecode, sys.stdout.write_through, sys.flags.bytes_warning)")
        for options in ([], ["-OO", "-X", "dev"], ["-Werror", "-W", "ignore::UserWarning"], ["-IS", "-B"], ["-u", "-bb"]):
            words = [*options, "-c", code, "-n", "x", "--label"]
            with self.subTest(options=options):
                self.assertEqual(gorgon("run", *words).stdout, run(PYTHON3, *words).stdout)

    def test_each_option_of_python_is_there(self):
        """Each that python3's help lists, but for those that print and end. -R is in its manual only."""
        listed = set(re.findall(r"^(-\w|--[\w-]+)", run(PYTHON3, "--help").stdout, re.M))
        listed = {option for option in listed if not option.startswith("--help")} - {"-c", "-m", "-h", "-V", "-i"} | {"-R"}
        values = {"-W": "error", "-X": "utf8", "--check-hash-based-pycs": "always"}
        self.assertGreater(len(listed), 13)
        code = "import sys, _imp; print('program'); print(sys.flags, sys._xoptions, sys.warnoptions, _imp.check_hash_based_pycs)"
        with tempfile.TemporaryDirectory() as folder:
            for name in "program.py", "-program.py":  # the name of the second takes a "--"
                with open(os.path.join(folder, name), "w") as file:
                    file.write("print('first line')\n" + code)
            for option in sorted(listed):
                for program in ["program.py"], ["--", "-program.py"], ["--", "program.py", "-x", "--"]:
                    words = [option, *([values[option]] if option in values else []), *program]
                    with self.subTest(words=words):
                        env = {"PYTHONHASHSEED": "0"}
                        expected = run(PYTHON3, *words, cwd=folder, env=env)
                        self.assertEqual((expected.returncode, "program\n" in expected.stdout), (0, True), expected.stderr)
                        self.assertEqual(gorgon("run", *words, cwd=folder, env=env).stdout, expected.stdout)

    def test_imports_are_traced_by_v_as_there(self):
        self.assertIn("import 'json'", gorgon("run", "-v", "-c", "import json").stderr)

    def test_program_on_stdin(self):
        code = "import sys\nprint(sys.argv, __name__)\n"
        self.assertEqual(gorgon("run", input=code).stdout, "[''] __main__\n")
        self.assertEqual(gorgon("run", "-", "a", "-b", input=code).stdout, "['-', 'a', '-b'] __main__\n")

    def test_prompt(self):
        with Terminal(GORGON, "run", "-q", **PLAIN_PROMPT) as terminal:
            terminal.wait_for(">>> ")
            terminal.ask("import time; 6 * 7\n", r"\n42\r\n>>> ")
            terminal.ask("print('on', 'it'); time.sleep(600)\n", r"\non it\r\n")
            # After this Python 3.14 ends by SIGINT, whatever exit() says: the test below is about the status.
            terminal.ask("\x03", r"KeyboardInterrupt\r\n>>> ")

    def test_prompt_after_a_program(self):
        with Terminal(GORGON, "run", "-i", "-c", "x = 6 * 7", **PLAIN_PROMPT) as terminal:
            terminal.wait_for(">>> ")
            terminal.ask("x\n", r"\n42\r\n>>> ")
            os.write(terminal.terminal, b"exit(3)\n")
            self.assertEqual(terminal.process.wait(TIMEOUT), 3)

    def test_prompt_is_for_one_interpreter(self):
        for words in (["-n", "2"], ["-n", "2", "-i", "-c", "1"], ["--repeat", "2"]):
            with self.subTest(words=words):
                result = gorgon("run", *words)
                self.assertEqual((result.stdout, result.returncode), ("", 2))
                self.assertRegex(result.stderr, r"\Agorgon: run: [^\n]*a prompt is for one interpreter[^\n]*\n\Z")

    def test_verbose_says_what_was_loaded(self):
        result = gorgon("run", "-n", "2", "--verbose", "-c", "import _sqlite3; print(_sqlite3.__file__)")
        lines = result.stderr.splitlines()
        module = result.stdout.splitlines()[0]
        self.assertEqual(lines[0], f"gorgon: {LIBPYTHON} is taken: python3 in PATH")
        self.assertRegex(lines[1], r"^gorgon: interpreter [01] has loaded:$")
        self.assertEqual(lines[2], f"private  {LIBPYTHON} (private by default)")
        self.assertIn(f"private  {module} (private by default)", lines)
        self.assertRegex(result.stderr, r"\nprivate  \S*/libsqlite3\.so\.0 \(private by default\)\n")
        self.assertRegex(result.stderr, r"\nshared   \S*/libc\.so\.6 \(libc\.so\.6: owns malloc")
        self.assertEqual(len(set(lines)), len(lines), result.stderr)
        self.assertRegex(lines[-1], r"^gorgon: interpreter ([01]) has loaded what interpreter (?!\1)[01] has$")

    def test_labels_have_colours_on_a_terminal_only(self):
        for env, expected in (({}, "\x1b[36m[0]\x1b[0m hello\r\n"), ({"NO_COLOR": "1"}, "[0] hello\r\n"),
                              ({"TERM": "dumb"}, "[0] hello\r\n")):
            with self.subTest(env=env), Terminal(GORGON, "run", "--label", "-c", "print('hello')", **env) as terminal:
                terminal.wait_for(f"^{re.escape(expected)}")
        self.assertEqual(gorgon("run", "--label", "-c", "print('hello')").stdout, "[0] hello\n")


KNOWN = (("ok", "with --python-lines=on") if harness.PYTHON_LINES else
         ("note", "expected 3.11 to 3." if os.uname().machine == "x86_64" else "only on x86-64"))


class Doctor(unittest.TestCase):
    def rows(self, *args, status=0, **env):
        result = gorgon("doctor", "--json", *args, env=env)
        self.assertEqual((result.stderr, result.returncode), ("", status))
        return {row["what"]: row for row in json.loads(result.stdout)}

    def test_debuggers_and_their_scripts(self):
        with tempfile.TemporaryDirectory() as home:
            rows = self.rows(HOME=home)
            self.assertEqual([rows[name]["state"] for name in ("CPython", "gdb", "lldb")], ["ok"] * 3, rows)
            self.assertIn(LIBPYTHON, rows["CPython"]["found"])
            advice = {name: rows[f"{name}'s scripts"]["advice"].partition(": ") for name in ("gdb", "lldb")}
            for name, (what, _, line) in advice.items():
                self.assertEqual((rows[f"{name}'s scripts"]["state"], what), ("note", f"put this line into ~/.{name}init"))
                self.assertTrue(os.path.isfile(line.split()[-1]), line)
                with open(f"{home}/.{name}init", "w") as file:
                    file.write(f"# {line}\n")
            self.assertEqual(self.rows(HOME=home)["gdb's scripts"]["state"], "note", "a comment loads nothing")
            # The line that doctor advises is what it looks for.
            for name, (_, _, line) in advice.items():
                with open(f"{home}/.{name}init", "a") as file:
                    file.write(f"{line}\n")
            rows = self.rows(HOME=home)
            self.assertEqual([rows[f"{name}'s scripts"]["state"] for name in ("gdb", "lldb")], ["ok"] * 2, rows)

    @unittest.skipUnless(pythons.can_hide(), "unshare is not installed, or not allowed")
    def test_scripts_that_gdb_loads_by_itself(self):
        """Those of the very library that the command uses, which gdb loads, too: not those of another one, such as an installed one."""
        ask_gdb = [GDB, "-batch", "-nx", "-ex", "start", "-ex", "info auto-load python-scripts", "--args", GORGON, "--version"]
        library = os.path.realpath(f"{BUILD}/libgorgon.so")
        for owner, state in ((library, "ok"), ("/usr/local/lib/libgorgon.so.0", "note")):
            with self.subTest(owner=owner), tempfile.TemporaryDirectory() as folder:
                script = f"{folder}{owner}-gdb.py"
                os.makedirs(os.path.dirname(script))
                shutil.copy(f"{ROOT}/gdb/libgorgon-gdb.py", script)
                mounted = ["unshare", "-rm", "sh", "-ec", 'mount --bind "$1" /usr/share/gdb/auto-load; shift; exec "$@"', "sh", folder]
                result = run(*mounted, GORGON, "doctor", "--json", env={"HOME": folder})
                row = next(row for row in json.loads(result.stdout) if row["what"] == "gdb's scripts")
                self.assertEqual(row["state"], state)
                said = run(*mounted, *ask_gdb, env={"HOME": folder})
                self.assertEqual(f"auto-load{owner}-gdb.py" in said.stdout, state == "ok", said)

    def test_what_is_missing(self):
        with tempfile.TemporaryDirectory() as empty:
            rows = self.rows("--python", "/nonexistent", status=1, PATH=empty)
        self.assertEqual((rows["CPython"]["state"], rows["gdb"]["state"], rows["lldb"]["state"]), ("PROBLEM", "note", "note"))
        self.assertIn("/nonexistent", rows["CPython"]["found"])
        self.assertIn("apt install gdb", rows["gdb"]["advice"])

    def test_cache_and_virtual_environment(self):
        with tempfile.TemporaryDirectory() as home:
            folder = os.path.dirname(os.path.dirname(VENV_PYTHON))
            path = f"{folder}/bin:{os.environ['PATH']}"
            rows = self.rows(HOME=home, XDG_CACHE_HOME=None, VIRTUAL_ENV=folder, PATH=path)
            self.assertEqual((rows["cache"]["state"], rows["cache"]["found"].split()[0]), ("ok", f"{home}/.cache/gorgon"))
            self.assertEqual((rows["virtual environment"]["state"], rows["virtual environment"]["found"]), ("ok", f"{folder} is used"))
            self.assertNotIn("virtual environment", self.rows(HOME=home, VIRTUAL_ENV=None))
            row = self.rows(HOME=home, VIRTUAL_ENV=folder)["virtual environment"]
            self.assertEqual(row["state"], "note")
            self.assertRegex(row["found"], f"^{re.escape(folder)} is active .*not used: programs run with .*python3")

    def test_no_place_for_files(self):
        """What debuggers lack then is said by `info`, too, and it is said where the library keeps no files."""
        lost = "above eight interpreters gdb shows names and no lines"
        with tempfile.TemporaryDirectory() as folder:
            def make(path, mode, *, to=None):
                os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
                os.symlink(f"{folder}/{to}", f"{folder}/{path}") if to else os.mkdir(f"{folder}/{path}")
                os.chmod(f"{folder}/{path}", mode)

            make("open", 0o777)
            make("everybody/gorgon", 0o755)
            make("everybody/../sticky", 0o1777)
            make("group/gorgon", 0o775)
            make("linked/gorgon", 0o700, to="group")
            make("mine/gorgon", 0o755)
            os.chmod(f"{folder}/everybody", 0o777)
            cases = [({"XDG_CACHE_HOME": f"{folder}/mine"}, "ok", f"{folder}/mine/gorgon"),
                     ({"XDG_CACHE_HOME": f"{folder}/missing"}, "ok", f"{folder}/missing/gorgon"),
                     ({"XDG_CACHE_HOME": f"{folder}/sticky"}, "ok", f"{folder}/sticky/gorgon"),
                     ({"XDG_CACHE_HOME": f"{folder}/far/missing"}, "note", "cannot be made"),
                     ({"XDG_CACHE_HOME": f"{folder}/open"}, "note", "others can write there"),
                     ({"XDG_CACHE_HOME": f"{folder}/everybody"}, "note", "others can write there"),
                     ({"XDG_CACHE_HOME": f"{folder}/group"}, "note", "others can write there"),
                     ({"XDG_CACHE_HOME": f"{folder}/linked"}, "note", "you cannot write there"),
                     ({"XDG_CACHE_HOME": "/proc"}, "note", "/proc/gorgon: "),
                     ({"XDG_CACHE_HOME": None, "HOME": None}, "note", "neither HOME nor XDG_CACHE_HOME")]
            for env, state, words in cases:
                with self.subTest(env):
                    row = self.rows(**env)["cache"]
                    self.assertEqual((row["state"], lost in row["found"]), (state, state == "note"), row)
                    self.assertIn(words, row["found"])
                    self.assertEqual(lost in gorgon("info", env=env).stdout, state == "note")
                    gorgon("run", "-n", "9", "-c", "1", env=env)
                    kept = glob.glob(f"{env['XDG_CACHE_HOME']}/gorgon/*.debug") if env["XDG_CACHE_HOME"] else []
                    self.assertEqual(bool(kept), state == "ok", kept)

    def test_a_python_without_python_lines(self):
        """Its version is not known, as its name says."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/libpython3.99.so.1.0"
            os.symlink(LIBPYTHON, path)
            unknown = KNOWN[1] if "x86-64" in KNOWN[1] else "CPython 3.99 is not known, expected 3.11 to 3."
            for python, state, words in ((PYTHON3, *KNOWN), (path, "note", unknown)):
                with self.subTest(python):
                    row = self.rows("--python", python)["Python lines"]
                    self.assertEqual((row["state"], words in row["found"]), (state, True), row)
                    said = gorgon("info", "--python", python).stdout
                    self.assertRegex(said, rf"(?m)^Python lines {'with --python-lines=on' if state == 'ok' else f'.*{re.escape(words)}'}")

    def test_an_old_lldb_does_not_hide_a_newer_one(self):
        with tempfile.TemporaryDirectory() as folder:
            def install(name, version):
                with open(f"{folder}/{name}", "w") as file:
                    file.write(f"#!/bin/sh\necho lldb version {version}\n")
                os.chmod(file.name, 0o755)

            install("lldb", "14.0.6")
            row = self.rows("--python", PYTHON3, PATH=folder)["lldb"]
            self.assertEqual((row["state"], row["advice"]), ("note", "on Debian: apt install lldb-19"))
            install("lldb-19", "19.1.7")
            row = self.rows("--python", PYTHON3, PATH=folder)["lldb"]
            self.assertEqual((row["state"], row["found"]), ("ok", "lldb version 19.1.7"))

    def test_library_without_debug_information(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, os.path.basename(LIBPYTHON))
            subprocess.run(["objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", "--remove-section=.gnu_debuglink",
                            LIBPYTHON, path], check=True)
            row = self.rows("--python", path)["debug information"]
        self.assertEqual(row["state"], "note")
        self.assertIn("-dbg", row["advice"])

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime sets the limit to 0")
    def test_cores_are_not_written_without_a_limit(self):
        with open("/proc/sys/kernel/core_pattern") as file:
            pattern = file.read()
        row = {limit: json.loads(run("sh", "-c", f'ulimit -c {limit}; exec "$0" doctor --json', GORGON).stdout) for limit in ("0", "unlimited")}
        states = {limit: next(r["state"] for r in rows if r["what"] == "cores") for limit, rows in row.items()}
        none = "ok" if pattern.startswith("|") else "note"  # a program gets them whatever the limit
        self.assertEqual(states, {"0": none, "unlimited": "ok"})

    def test_text_has_the_advice_below(self):
        with tempfile.TemporaryDirectory() as home:
            text = gorgon("doctor", env={"HOME": home}).stdout
        self.assertRegex(text, r"(?m)^note +gdb's scripts .*\n +-> put this line into ~/\.gdbinit: source ")


class Cache(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.folder = os.path.join(self.home.name, "gorgon")

    def make(self, *names):
        for name in names:
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(bytes(5000))

    def cache(self, *args, status=0):
        result = gorgon("cache", *args, env={"XDG_CACHE_HOME": self.home.name})
        self.assertEqual((result.stderr, result.returncode), ("", status))
        return result.stdout

    def test_none(self):
        self.assertEqual(sum(row["files"] for row in json.loads(self.cache("--json"))["kinds"]), 0)

    def test_what_nobody_uses_goes(self):
        self.make("a.debug", "b.debug", "gdb/13.1/w", "lldb/files/y", "lldb/index/z", "sources/v")
        self.assertEqual([row["files"] for row in json.loads(self.cache("--json"))["kinds"]], [2, 1, 2, 1])
        self.assertEqual(len(os.listdir(self.folder)), 5, "looking at it removes nothing")
        with open(os.path.join(self.folder, "a.debug")) as used:
            fcntl.flock(used, fcntl.LOCK_SH)
            self.assertIn("removed: 5 of 6 files; 1 are in use", self.cache("--clear"))
            self.assertEqual(os.listdir(self.folder), ["a.debug"])
        self.assertIn("removed: 1 of 1 files\n", self.cache("--clear"))
        self.assertEqual(os.listdir(self.home.name), ["gorgon"])

    def test_links_are_removed_and_not_followed(self):
        outside = os.path.join(self.home.name, "outside")
        self.make("a.debug")
        with open(outside, "w"):
            os.symlink(outside, os.path.join(self.folder, "link"))
        self.cache("--clear")
        self.assertTrue(os.path.exists(outside))
        self.assertFalse(os.path.lexists(os.path.join(self.folder, "link")))

    def test_files_of_a_debugger_are_counted_and_made_again(self):
        code = ["run", "-c", "import gorgon"]
        env = {"XDG_CACHE_HOME": self.home.name}
        run(GORGON, *code, env=env)
        first = sum(row["files"] for row in json.loads(self.cache("--json"))["kinds"])
        self.cache("--clear")
        run(GORGON, *code, env=env)
        self.assertEqual(sum(row["files"] for row in json.loads(self.cache("--json"))["kinds"]), first)

    def test_without_a_home(self):
        result = gorgon("cache", env={"XDG_CACHE_HOME": None, "HOME": "here"})
        self.assertEqual((result.stdout, result.returncode), ("", 2))
        self.assertIn("neither XDG_CACHE_HOME nor HOME", result.stderr)


class Completion(unittest.TestCase):
    """One question for each shell: the same answers."""

    CASES = [("gorgon d", {"doctor", "demo"}), ("gorgon run --re", {"--repeat"}), ("gorgon info --p", {"--python", "--private"}),
             ("gorgon run --isolate c", {"copy"}), ("gorgon-symdump --pe", {"--perf-map"})]
    ENV = {"PATH": f"{BUILD}:{os.environ['PATH']}"}

    def test_bash(self):
        for line, expected in self.CASES:
            words = line.split()
            function = "_gorgon" if words[0] == "gorgon" else "_gorgon_symdump"
            script = (f'source {ROOT}/tools/completion/gorgon.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; '
                      f'{function} {words[0]}; printf "%s\\n" "${{COMPREPLY[@]}}"')
            with self.subTest(line=line):
                self.assertEqual(set(run("bash", "-c", script, env=self.ENV).stdout.split()), expected)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        for line, expected in self.CASES:
            with self.subTest(line=line):
                result = run("fish", "-c", f"source {ROOT}/tools/completion/gorgon.fish; complete -C '{line}'", env=self.ENV)
                self.assertEqual({row.split("\t")[0] for row in result.stdout.splitlines()}, expected, result.stderr)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        with Terminal("zsh", "-f", "-i", **{**self.ENV, "TERM": "dumb"}) as terminal:
            terminal.ask(f"fpath=({ROOT}/tools/completion $fpath); autoload -U compinit; compinit -u -D; print re''ady\n", "ready\r")
            for line, expected in self.CASES:
                if len(expected) == 1:
                    with self.subTest(line=line):
                        terminal.ask(f"\x15{line}\t", re.escape(f"{line.rpartition(' ')[0]} {next(iter(expected))}"))


if __name__ == "__main__":
    unittest.main()
