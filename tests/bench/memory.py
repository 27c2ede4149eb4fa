# SPDX-License-Identifier: MIT
"""What it costs that an interpreter's memory is counted, and that it has a limit: programs of pyperformance and of allocations.py.

Each runs in an ordinary python3 that is linked with the same libpython, in an interpreter of gorgon run, and in one with a
limit that it never reaches. Instructions are compared, as cachegrind counts them, because times of a few percent are not seen on any
machine. Each program does its work once and twice; the difference is the work without start and imports."""

import concurrent.futures
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["BUILD"]
VENV = os.path.join(BUILD, "memory-venv")
PYTHON = "/usr/bin/python3"
HOSTS = {"linked": [os.path.join(BUILD, "bench", "linked")],
         "counted": [os.path.join(BUILD, "gorgon"), "run", "--python", PYTHON],
         "limited": [os.path.join(BUILD, "gorgon"), "run", "--python", PYTHON, "--memory-limit", "4G"]}
CACHEGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
OWN = ("small", "medium", "large", "lists", "inserts")
# Of pyperformance: a program with its arguments, and how often its loop runs for one value.
SUITE = {"deepcopy": 20, "deltablue": 2, "gc_traversal": 1, "go": 1, "json_dumps": 2, "json_loads": 10, "pickle pickle": 10, "pickle unpickle": 10,
         "pidigits": 1, "raytrace --width=30 --height=30": 1, "regex_compile": 1, "regex_effbot": 1, "sqlite_synth": 3000, "telco": 1,
         "unpack_sequence": 300, "xml_etree parse": 1}


def install():
    """The folder of pyperformance's programs, in an environment of its own."""
    if not os.path.exists(os.path.join(VENV, "bin", "pyperformance")):
        subprocess.run([PYTHON, "-m", "venv", VENV], check=True)
        subprocess.run([os.path.join(VENV, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        "-r", os.path.join(HERE, "requirements-memory.txt")], check=True)
    words = [os.path.join(VENV, "bin", "python"), "-c", "import os, pyperformance; print(os.path.dirname(pyperformance.__file__))"]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def commands(package):
    """{program: what runs it, with its work done @times, as a function}"""
    found = {f"allocations.py {name}": lambda times, name=name: [os.path.join(HERE, "allocations.py"), name, str(times)] for name in OWN}
    for name, loops in SUITE.items():
        program, *arguments = name.split()
        words = [os.path.join(package, "data-files", "benchmarks", f"bm_{program}", "run_benchmark.py"), *arguments, "--worker",
                 "--worker-task=0", "--warmups=0", f"--loops={loops}"]
        found[name] = lambda times, words=words: [*words, f"--values={times}"]
    return found


def count(host, words, site):
    """Instructions of one run."""
    result = subprocess.run([*CACHEGRIND, *HOSTS[host], *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                            env=dict(os.environ, PYTHONPATH=site, PYTHONHASHSEED="0"), stdin=subprocess.DEVNULL)
    found = re.search(r"I +refs: +([\d,]+)", result.stdout)
    if result.returncode or not found:
        raise SystemExit(f"bench: {' '.join([*HOSTS[host], *words])} ended with {result.returncode}:\n{result.stdout[-2000:]}")
    return int(found[1].replace(",", ""))


def measure(progress):
    package = install()
    site = os.path.dirname(package)
    wanted = commands(package)
    done = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {(program, host, times): pool.submit(count, host, words(times), site)
                for program, words in wanted.items() for host in HOSTS for times in (1, 2)}
        for _ in concurrent.futures.as_completed(runs.values()):
            done += 1
            progress(f"memory: {done}/{len(runs)}")
    work = {(program, host): runs[program, host, 2].result() - runs[program, host, 1].result() for program in wanted for host in HOSTS}
    return [{"benchmark": "memory", "program": program, "instructions": work[program, "linked"],
             "counted": work[program, "counted"] / work[program, "linked"],
             "limited": work[program, "limited"] / work[program, "linked"]} for program in wanted]


def tables(rows):
    lines = ["Instructions of programs in an interpreter whose memory is counted, and in one with a limit, too: more or less than in an ordinary\n"
             "python3 with the same libpython (aim: at most 1% more)\n",
             f"{'program':32}{'millions':>10}{'counted':>10}{'limited':>10}"]
    for row in rows:
        lines.append(f"{row['program']:32}{row['instructions'] / 1e6:10.1f}{row['counted'] - 1:10.2%}{row['limited'] - 1:10.2%}")
    return "\n".join(lines)


def report(name, rows):
    """FILE.md."""
    told = subprocess.run([PYTHON, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    lines = ["# What counting memory costs", "",
             f"{time.strftime('%Y-%m-%d')}; {told}. Made by `make bench TESTS=memory REPORT=tests/bench/MEMORY`. Instructions of a program's work, as "
             "cachegrind counts them, in an ordinary python3 with the interpreters' libpython; how many more an interpreter of `gorgon run` "
             "needs, with all that Gorgon does; and one with a limit that it never reaches. Programs are pyperformance's, and those of "
             "`allocations.py`.", "",
             "| program | millions | counted | with a limit |", "|---|---|---|---|"]
    lines += [f"| {row['program']} | {row['instructions'] / 1e6:.1f} | {row['counted'] - 1:+.2%} | {row['limited'] - 1:+.2%} |" for row in rows]
    with open(f"{name}.md", "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    print(tables(measure(lambda text: print(text, file=sys.stderr))))
