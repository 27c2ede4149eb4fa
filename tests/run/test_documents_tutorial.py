# SPDX-License-Identifier: MIT
"""docs/tutorial.md, followed word by word: its files, its commands, its session with a plain gdb."""

import os
import re
import subprocess
import tempfile
import unittest

from harness import BUILD, GDB, PYTHON3, ROOT, SANITIZED, install_package, run


def blocks():
    """[(language, text)] of the page, in its order."""
    with open(f"{ROOT}/docs/tutorial.md") as file:
        return re.findall(r"^```(\w+)\n(.*?)^```", file.read(), re.M | re.S)


@unittest.skipIf(SANITIZED, "an ordinary python3 loads no library with a sanitizer")
class Tutorial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home, self.work = f"{folder.name}/home", f"{folder.name}/work"
        os.makedirs(self.home)
        os.makedirs(self.work)

    def shell(self, commands):
        result = run("sh", "-ec", commands, env={"HOME": self.home, "GORGON_BUILD": BUILD}, cwd=self.work)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_each_step_gives_what_the_page_says(self):
        install, source, program, build, session, fix = (text for _, text in blocks())
        self.assertEqual([kind for kind, _ in blocks()], ["sh", "c", "python", "sh", "gdb", "sh"])
        with open(f"{ROOT}/docs/tutorial.md") as file:
            printed = re.findall(r"prints `([^`]*)`", file.read())
        self.make_environment(install)
        for name, text in ("means.c", source), ("days.py", program):
            with open(f"{self.work}/{name}", "w") as file:
                file.write(text)
        self.assertEqual(self.shell(build).strip(), printed[0])
        self.session(session)
        self.assertEqual(self.shell(fix).strip(), printed[1])

    def make_environment(self, commands):
        """What `pip install ./python` puts there; without a registry of packages, as the tests have none."""
        make, install = commands.splitlines()
        self.assertEqual(install, "~/gorgon-env/bin/pip install ./python")
        subprocess.run(["sh", "-ec", make.replace("python3", PYTHON3, 1)], env={**os.environ, "HOME": self.home}, check=True)
        packages = run(f"{self.home}/gorgon-env/bin/python", "-c", "import site; print(site.getsitepackages()[0])").stdout.strip()
        install_package(packages)

    def session(self, text):
        """Each line of the page is in gdb's answer to the command above it; `...` stands for what differs, and either interpreter comes
        first to the breakpoint."""
        first, *lines = text.splitlines()
        self.assertEqual(first, "$ gdb -q --args ~/gorgon-env/bin/python days.py")
        answers = []
        for line in lines:
            if line.startswith("(gdb) "):
                answers.append((line.removeprefix("(gdb) "), []))
            else:
                answers[-1][1].append(line)
        typed = "".join(f"echo \\n==== {command}\\n\n{command}\n" for command, _ in answers)
        result = subprocess.run([GDB, "-q", "-nx", "--args", f"{self.home}/gorgon-env/bin/python", "days.py"], text=True,
                                input="set confirm off\nset width 0\nset pagination off\nset debuginfod enabled off\n" + typed,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.work, timeout=300, check=False)
        said = dict(re.findall(r"^==== (.*?)\n(.*?)(?=^==== |\Z)", result.stdout.replace("(gdb) ", "\n"), re.M | re.S))
        for command, expected in answers:
            for line in expected:
                pattern = ".*?".join(map(re.escape, line.split("...")))
                self.assertRegex(said[command], re.sub(r"(hit\\ Breakpoint\\ 1\\\.)\d", r"\1\\d", pattern), result.stdout)
        self.assertRegex(said["info locals"], r"total = [60]\n")


if __name__ == "__main__":
    unittest.main()
