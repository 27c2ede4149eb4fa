#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's packages with extension modules: in one private copy, in two at once, after a destroyed one.

Usage: corpus.py [NAME]...

Each program programs/debian/use_NAME.py imports a package and asserts something that it does;
its first line names the Debian packages it needs and lines `# options:` and `# remark:` what
`gorgon run` is given and what the table says. All of them are installed in a Debian root of
their own, where each program runs in python3 and in private copies of it.

For the search for crashes that come once in ten: TIMES=10 in the environment runs each column
so often, COUNT=4 has so many interpreters where "two at once" says two (that is no result for
the tables)."""

import glob
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from report import Report
from root import INSIDE, Root, Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs", "debian")
TIMEOUT = 300
# name of a column: (interpreters at once, rounds)
TIMES = int(os.environ.get("TIMES", "1"))
COLUMNS = {"one copy": (1, 1), "two at once": (int(os.environ.get("COUNT", "2")), 1), "after a destroyed one": (1, 2)}
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1", "QT_QPA_PLATFORM": "offscreen",
               "MPLBACKEND": "agg", "OMP_NUM_THREADS": "2"}


class Program:
    def __init__(self, name):
        self.name = name
        with open(os.path.join(PROGRAMS, f"use_{name}.py")) as file:
            fields = dict(re.findall(r"^# (packages|options|remark): (.*)$", file.read(), re.M))
        self.packages = fields["packages"].split()
        self.options = fields.get("options", "").split()
        self.remark = fields.get("remark", "")

    def run(self, root, interpreters, rounds):
        """None when every run of the program did its work, otherwise what happened. 0 @interpreters is python3."""
        count = max(interpreters, 1)
        command = ["python3"] if not interpreters else [
            f"{INSIDE}/build/gorgon", "run", "-n", interpreters, "--repeat", rounds, *self.options]
        program = f"{INSIDE}/tests/long/programs/"
        try:
            result = root.run("sh", "-c", 'cd "$(mktemp -d)" && mkdir met && "$@"; status=$?; rm -r "$PWD"; exit $status', "-",
                              *command, program + "alongside.py", "met", count, f"{program}debian/use_{self.name}.py",
                              env=ENVIRONMENT, timeout=TIMEOUT)
        except subprocess.TimeoutExpired as error:
            return f"hangs; its output was:\n{b''.join((error.stdout or b'', error.stderr or b'')).decode(errors='replace')}"
        done = len(re.findall(r"alongside: done", result.stdout))
        if result.returncode or done != count * rounds:
            return f"status {result.returncode}, {done} of {count * rounds} done\n{result.stdout[-2000:]}{result.stderr[-4000:]}"
        return None

    def run_column(self, root, column):
        """As run(); the first failure of TIMES runs."""
        for number in range(TIMES):
            failure = self.run(root, *COLUMNS.get(column, (0, 1)))
            if failure:
                text = f"{column}, run {number + 1} of {TIMES}: {failure}"
                print(f"        {self.name}: {text}".replace("\n", "\n            "), flush=True)
                return text
        return None

    def run_all(self, root):
        """{column: None or what happened}, "python3" first; nothing else is run when that fails."""
        broken = self.run_column(root, "python3")
        outcomes = {column: "fails in python3" if broken else self.run_column(root, column) for column in COLUMNS}
        return {"python3": broken, **outcomes}


def names():
    return sorted(os.path.basename(path)[4:-3] for path in glob.glob(os.path.join(PROGRAMS, "use_*.py")))


def main(words):
    report = Report("Debian's packages")
    programs = [Program(name) for name in words or names()]
    try:
        root = Root("corpus", "bookworm")
        root.install({package for program in programs for package in program.packages})
        root.build()
    except Unavailable as error:
        report.skip("a root of Debian's packages", error)
        return report.finish()
    versions = root.installed()
    outcomes = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(program.run_all, root): program for program in programs}
        for future in as_completed(futures):
            outcomes[futures[future].name] = future.result()
            report.progress(len(outcomes), len(programs), futures[future].name)
    report.table("Debian 12", ["package", "version", "python3", *COLUMNS, "remark"])
    for program in programs:
        package = program.packages[0]
        cells = ["ok" if outcome is None else "FAILS" for outcome in outcomes[program.name].values()]
        report.entry(package, versions[package], *cells, " ".join(filter(None, [" ".join(program.options), program.remark])))
    for column in ["python3", *COLUMNS]:
        failures = {name: found[column] for name, found in outcomes.items() if found[column] is not None}
        report.check(f"{len(programs)} packages, {column}", not failures, f"{len(programs)} work",
                     f"{len(programs) - len(failures)} work", "\n".join(sorted(failures)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
