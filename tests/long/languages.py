#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hosts in other languages than C, examples/hosts: built as docs/embedding.md says, with the compilers of the distribution.

Each prints what its first comment says. Then all run for a minute at the same time, as more threads than there are
processors, and none may see a wrong sum, hang or crash. SECONDS is in the environment.

Usage: languages.py [go|java|rust]..."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from report import Report
from harness import BUILD, ROOT, run

SOURCES = {"go": "host.go", "java": "Host.java", "rust": "host.rs"}
SECONDS = int(os.environ.get("SECONDS", "60"))
LINES_MAX = 150  # for an example that somebody is to read


def commands(language):
    """(what builds, what runs): the section of the document has both in one block."""
    with open(f"{ROOT}/docs/embedding.md") as file:
        section = re.search(rf"^## A host in {language.title()}$(.*?)(?=^## )", file.read(), re.M | re.S)[1]
    *build, start = re.search(r"^```\n(.*?)^```", section, re.M | re.S)[1].splitlines()
    return "\n".join(build), start


def promised(language):
    with open(f"{ROOT}/examples/hosts/{SOURCES[language]}") as file:
        text = file.read()
    assert text.count("\n") < LINES_MAX, SOURCES[language]
    return "".join(line + "\n" for line in re.findall(r"^//\t(.*)$", text, re.M))


def build(report, language, folder, env):
    result = subprocess.run(["sh", "-e"], input=commands(language)[0], capture_output=True, text=True, cwd=folder, env=env, check=False)
    return report.check(f"{language}: builds as the document says", not result.returncode and not result.stderr, "no message, status 0",
                        f"status {result.returncode}", result.stdout + result.stderr)


def outcome(ended, language):
    """Empty if a host has printed what it is to print, and nothing else."""
    output, errors = ended.communicate(timeout=SECONDS + 300)
    right = not ended.returncode and not errors and output == promised(language)
    return "" if right else f"status {ended.returncode}\n{output}{errors}"


def start(language, folder, env, seconds):
    return subprocess.Popen(["sh", "-c", f"exec {commands(language)[1]} {seconds}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, cwd=folder, env=env)


def main(languages):
    report = Report("Hosts in other languages")
    with tempfile.TemporaryDirectory() as folder:
        run("make", "-C", ROOT, "install", f"BUILD={BUILD}", f"DESTDIR={folder}", "PREFIX=/usr", "DEPS=no").check_returncode()
        lib = f"{folder}/usr/lib"
        # The distribution's compilers, and not those that a user has in the home directory.
        env = dict(os.environ, PATH="/usr/bin:/bin", PKG_CONFIG_SYSROOT_DIR=folder, PKG_CONFIG_PATH=f"{lib}/pkgconfig",
                   LIBRARY_PATH=lib, LD_LIBRARY_PATH=lib, GOCACHE=f"{folder}/go", GOFLAGS="-modcacherw")
        shutil.copytree(f"{ROOT}/examples/hosts", f"{folder}/hosts")
        built = [language for language in languages or SOURCES if build(report, language, f"{folder}/hosts", env)]
        for seconds in 0, SECONDS:
            ended = {language: start(language, f"{folder}/hosts", env, seconds) for language in built}
            for language, process in ended.items():
                wrong = outcome(process, language)
                report.check(f"{language}: " + (f"{seconds} s under load" if seconds else "exceptions, interrupt, limit, replacement"),
                             not wrong, "what the example promises, no message", wrong.partition("\n")[0] or "that", wrong)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
