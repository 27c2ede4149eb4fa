# SPDX-License-Identifier: MIT
"""Programs that import a package and assert something that it does: in python3 and in private copies.

A program is a file use_NAME.py. Lines at its beginning say what it needs: `# packages:` the packages'
names, `# options:` and `# remark:` what `gorgon run` is given and what the table says. Interpreters
share the current folder, which is new and goes afterwards: a program makes one in it for its files. Where it
runs - in a Debian root, in a virtual environment - is a place: an object with

    programs    the folder programs/ as the place sees it
    python      the command line of python3 there
    gorgon      that of `gorgon run` with the same Python
    run(*command, env, timeout)     a CompletedProcess with text output"""

import glob
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor, as_completed

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
TIMEOUT = 300
# name of a column: (interpreters at once, rounds, processes)
COLUMNS = {"one copy": (1, 1, 1), "two at once": (2, 1, 1), "after a destroyed one": (1, 2, 1)}
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1", "QT_QPA_PLATFORM": "offscreen",
               "MPLBACKEND": "agg", "OMP_NUM_THREADS": "2"}


class Program:
    def __init__(self, folder, name):
        self.name, self.file = name, f"{folder}/use_{name}.py"
        with open(os.path.join(PROGRAMS, self.file)) as file:
            lines = re.findall(r"^# (packages|options|remark): (.*)$", file.read(), re.M)
        fields = {field: " ".join(text for key, text in lines if key == field) for field in ("packages", "options", "remark")}
        self.packages, self.options = fields["packages"].split(), fields["options"].split()
        self.remark = " ".join(filter(None, [fields["options"], fields["remark"]]))

    def run(self, place, interpreters, rounds):
        """None when every run of the program did its work, otherwise what happened. 0 @interpreters is python3."""
        count = max(interpreters, 1)
        command = place.python if not interpreters else [*place.gorgon, "-n", interpreters, "--repeat", rounds, *self.options]
        try:
            result = place.run("sh", "-c", 'cd "$(mktemp -d)" && mkdir met && "$@"; status=$?; rm -r "$PWD"; exit $status', "-",
                               *command, f"{place.programs}/alongside.py", "met", count, f"{place.programs}/{self.file}",
                               env=ENVIRONMENT, timeout=TIMEOUT)
        except subprocess.TimeoutExpired as error:
            return f"hangs; its output was:\n{b''.join((error.stdout or b'', error.stderr or b'')).decode(errors='replace')}"
        done = len(re.findall(r"alongside: done", result.stdout))
        if result.returncode or done != count * rounds:
            return f"status {result.returncode}, {done} of {count * rounds} done\n{result.stdout[-2000:]}{result.stderr[-4000:]}"
        return None

    def run_column(self, place, column, interpreters, rounds, processes):
        """What happened in processes that failed; it is printed at once, too."""
        failures = []
        for number in range(processes):
            failure = self.run(place, interpreters, rounds)
            if failure is not None:
                failures.append(failure)
                text = f"{self.name}: {column}, run {number + 1} of {processes}: {failure}"
                print("        " + text.replace("\n", "\n            "), flush=True)
        return failures

    def run_all(self, place, columns):
        """{column: what run_column() says}, "python3" first; nothing else is run when that fails."""
        broken = self.run_column(place, "python3", 0, 1, 1)
        return {"python3": broken, **{column: ["fails in python3"] * numbers[2] if broken else
                                      self.run_column(place, column, *numbers) for column, numbers in columns.items()}}


def names(folder):
    return sorted(os.path.basename(path)[4:-3] for path in glob.glob(os.path.join(PROGRAMS, folder, "use_*.py")))


def load(folder, words):
    """All programs of a folder, or those that are named."""
    return [Program(folder, name) for name in words or names(folder)]


def cell(failures, processes):
    if not failures:
        return "ok"
    return "FAILS" if len(failures) == processes else f"FAILS {len(failures)} of {processes} times"


def check(report, title, place, programs, versions, columns, remark=lambda program: program.remark):
    """Run @programs, with a table "@title" that says what works and cases that say how many do."""
    outcomes = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(program.run_all, place, columns): program for program in programs}
        for future in as_completed(futures):
            outcomes[futures[future].name] = future.result()
            report.progress(len(outcomes), len(programs), futures[future].name)
    report.table(title, ["package", "version", "python3", *columns, "remark"])
    for program in programs:
        cells = [cell(failures, columns[column][2] if column in columns else 1)
                 for column, failures in outcomes[program.name].items()]
        report.entry(program.packages[0], versions[program.packages[0]], *cells, remark(program))
    for column in ["python3", *columns]:
        failures = {name: found[column] for name, found in outcomes.items() if found[column]}
        report.check(f"{title}: {len(programs)} packages, {column}", not failures, f"{len(programs)} work",
                     f"{len(programs) - len(failures)} work", "\n".join(sorted(failures)))
