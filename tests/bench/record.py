# SPDX-License-Identifier: MIT
"""gorgon-symdump --record beside py-spy: an ordinary python3 whose functions take known shares of its time.

Both sample the same process 100 times a second, in turn. Each round says how far each function's share is from what
it should be, and what the sampler took of a processor."""

import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.environ["BUILD"], "record-venv")
SYMDUMP = os.path.join(os.environ["BUILD"], "gorgon-symdump")
ROUNDS = 5
SECONDS = 5
SHARES = {"half": 50, "third": 30, "fifth": 20}
# Each function is called below twelve others, and works by the processor's clock, so that a busy machine changes
# nothing.
PROGRAM = """
import time
def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(100): pass
def nested(n, function):
    if n:
        return nested(n - 1, function)
    return function()
def half(): spend(.0050)
def third(): spend(.0030)
def fifth(): spend(.0020)
print("ready", flush=True)
while True:
    for function in (half, third, fifth):
        nested(12, function)
"""


def py_spy():
    """The program, in an environment of its own."""
    program = os.path.join(VENV, "bin", "py-spy")
    if not os.path.exists(program):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([os.path.join(VENV, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        "-r", os.path.join(HERE, "requirements-record.txt")], check=True)
    return program


def samplers(pid, output):
    """Commands that write collapsed stacks: {name: words}"""
    record = [py_spy(), "record", "--pid", str(pid), "--rate", "100", "--duration", str(SECONDS), "--format", "raw", "--output",
              output]
    own = [SYMDUMP, str(pid), "--record", str(SECONDS)]
    return {"py-spy": record, "py-spy --nonblocking": [*record, "--nonblocking"], "gorgon-symdump": own,
            "py-spy --native": [*record, "--native"], "gorgon-symdump --native": [*own, "--native"]}


def sample(words, output):
    """(processor time of the sampler, {function: percent of all samples})"""
    with open(output, "w") as file:
        process = subprocess.Popen(words, stdout=file if words[0] == SYMDUMP else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"bench: {words[0]} ended with {status}")
    with open(output) as file:
        stacks = [(set(re.findall(r"(\w+) \(", stack)), int(count)) for stack, count in
                  (line.rsplit(" ", 1) for line in file)]
    total = sum(count for _, count in stacks)
    return usage.ru_utime + usage.ru_stime, {name: 100 * sum(count for names, count in stacks if name in names) / total
                                             for name in SHARES}


def measure(progress):
    found = {}
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as target:
        target.stdout.readline()
        output = os.path.join(folder, "stacks")
        for i in range(ROUNDS):
            for name, words in samplers(target.pid, output).items():
                progress(f"record, {name}, round {i + 1} of {ROUNDS}")
                found.setdefault(name, []).append(sample(words, output))
        target.kill()
    return [{"benchmark": "record", "sampler": name,
             "cpu": statistics.median(cpu for cpu, _ in rounds) / SECONDS,
             "ratio": statistics.median(cpu / peer for (cpu, _), (peer, _) in zip(rounds, found["py-spy"])),
             **{f"{share}%": statistics.mean(shares[share] for _, shares in rounds) for share in SHARES}}
            for name, rounds in found.items()]


def tables(rows):
    lines = [f"Samplers of an ordinary python3 whose functions take {', '.join(f'{share}%' for share in SHARES.values())} of its"
             f" time, 100 samples a\nsecond for {SECONDS} s, {ROUNDS} rounds: what each takes of a processor, and the shares"
             " that it finds\n",
             f"{'':26}{'processor':>10}{'of py-spy':>11}" + "".join(f"{name:>8}" for name in SHARES)]
    for row in rows:
        lines.append(f"{row['sampler']:26}{row['cpu']:10.2%}{row['ratio']:11.2f}" +
                     "".join(f"{row[f'{share}%']:7.1f}%" for share in SHARES))
    return "\n".join(lines)
