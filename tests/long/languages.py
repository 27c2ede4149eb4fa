#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hosts in other languages than C, examples/hosts: built as docs/embedding.md says, with the compilers of the distribution.

The service in Go keeps its customers' plug-ins apart. Of the others each prints what its first comment says. Then all run for a minute at the same time, as more threads than there are
processors, and none may see a wrong sum, hang or crash. SECONDS is in the environment.

Usage: languages.py [go|java|rust]..."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from report import Report
from harness import BUILD, ROOT, run

SOURCES = {"go": "host.go", "java": "Host.java", "rust": "host.rs"}
SECONDS = int(os.environ.get("SECONDS", "60"))
LINES_MAX = 150  # for an example that somebody is to read
PLUGINS = {
    "alpha": "import numpy\nseen = 0\ndef handle(order):\n    global seen\n    seen += 1\n    return [float(numpy.array(order).sum()), seen]\n",
    "beta": "def handle(order):\n    while order == 'loop': pass\n    kept = []\n    while order == 'eat': kept.append(bytes(1000000))\n"
            "    return 1 / order\n",
    "gamma": "import no_such_module\n",
}
ORDERS = [("alpha", "[1, 2.5]", 200, "[3.5, 1]"), ("beta", '"loop"', 504, "no answer within 1s"), ("beta", '"eat"', 500, "MemoryError"),
          ("beta", "0", 500, "ZeroDivisionError: division by zero"), ("beta", "4", 200, "0.25"), ("alpha", "{", 500, "JSONDecodeError: "),
          ("gamma", "1", 404, "not found"), ("alpha", "[3]", 200, "[3.0, 2]")]
REQUESTS = 1000


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


def post(port, name, order):
    """(status, answer)"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", order.encode(), timeout=300) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def check_service(report, folder, env):
    with open(f"{folder}/service.go") as file:
        assert file.read().count("\n") < LINES_MAX
    result = subprocess.run(["go", "build", "-o", "service", "service.go"], capture_output=True, text=True, cwd=folder, env=env, check=False)
    if not report.check("go, the service: builds", not result.returncode and not result.stderr, "no message, status 0", f"status {result.returncode}",
                        result.stderr):
        return
    os.mkdir(f"{folder}/plugins")
    for name, text in PLUGINS.items():
        with open(f"{folder}/plugins/{name}.py", "w") as file:
            file.write(text)
    with subprocess.Popen([f"{folder}/service", f"{folder}/plugins"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as service:
        port = service.stdout.readline().strip()
        for name, order, status, text in ORDERS:
            seen = post(port, name, order)
            report.check(f"go, the service: {name}, {order}", seen[0] == status and text in seen[1], f"{status}, {text}", f"{seen[0]}, {seen[1].strip()}")
        with open(f"/proc/{service.pid}/status") as file:
            memory = int(re.search(r"^VmRSS:\s+(\d+)", file.read(), re.M)[1]) >> 10
        begin = time.monotonic()
        right = sum(post(port, "alpha", "[1]")[0] == 200 for _ in range(REQUESTS))
        report.check("go, the service: one request after the other", right == REQUESTS, f"{REQUESTS} answers",
                     f"{right} answers, {REQUESTS / (time.monotonic() - begin):.0f} a second; {memory} MiB with two customers, one of them with numpy")
        service.terminate()
        errors = service.communicate(timeout=300)[1]
    report.check("go, the service: what does not load, and SIGTERM", service.returncode == 0 and "gamma is left out: " in errors and errors.count("\n") == 1,
                 "status 0, one message", f"status {service.returncode}, {errors.strip()}")


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
        if "go" in built:
            check_service(report, f"{folder}/hosts", env)
        for seconds in 0, SECONDS:
            ended = {language: start(language, f"{folder}/hosts", env, seconds) for language in built}
            for language, process in ended.items():
                wrong = outcome(process, language)
                report.check(f"{language}: " + (f"{seconds} s under load" if seconds else "exceptions, interrupt, limit, replacement"),
                             not wrong, "what the example promises, no message", wrong.partition("\n")[0] or "that", wrong)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
