#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executors one after the other, with pandas and pyarrow, and with libraries whose threads nothing ends.

Usage: executors.py [pandas | LIBRARY]...

N=1000 in the environment is how many. pandas imports pyarrow, whose libraries leave what their constructors have
allocated, 25 KB each. That stays in use, among what others free: pages of malloc()'s arenas stay, until all of an arena that an
interpreter has needed is there. Threads of LIBRARIES end with their interpreters, in N/5 executors each, whose results are
those of a process pool. What a library keeps in blocks of malloc() until its process ends stays (docs/limits.md)."""

import os
import re
import sys
import tempfile

from report import Report
from sources import environment
import harness

N = int(os.environ.get("N", "1000"))
LIMIT = 6 * 3600  # seconds for N of them, on a machine that has other things to do
FIRST = 100  # after so many, everything is there that all executors have in common
PROGRAM = """
import ctypes, gorgon, gc, re, sys, threading
from gorgon import InterpreterPoolExecutor

def work(n):
    import pandas, pyarrow
    frame = pandas.DataFrame({"a": range(n), "b": [str(i % 7) for i in range(n)]})
    return pyarrow.Table.from_pandas(frame).num_rows + int(frame.groupby("b").a.sum().sum())

class Blocks(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Blocks

def state():
    gc.collect()
    with open("/proc/self/status") as file:
        anonymous = int(re.search(r"RssAnon:\\s+(\\d+)", file.read())[1])
    with open("/proc/self/maps") as file:
        return anonymous, mallinfo().uordblks // 1024, len(file.readlines()), threading.active_count(), gorgon.count()

if __name__ == "__main__":
    for i in range(1, int(sys.argv[1]) + 1):
        with InterpreterPoolExecutor(1) as pool:
            right = pool.submit(work, 1000).result() == 500500
        if not right:
            sys.exit("a wrong result")
        if i % 100 == 0 or i == int(sys.argv[1]):
            print("executor", i, *state(), flush=True)
"""
THREADS = """
import concurrent.futures, ctypes, importlib, multiprocessing, os, re, sys, time, warnings
import gorgon

def opencv():
    import cv2, numpy
    return cv2.GaussianBlur(numpy.arange(90000, dtype="f4").reshape(300, 300), (5, 5), 1).sum().item()

def polars():
    import polars
    frame = polars.DataFrame({"a": range(1000)}).lazy().group_by(polars.col("a") % 7).agg(polars.len())
    return frame.collect().sort("a").rows()

def numba():
    import numba, numpy
    @numba.njit(parallel=True)
    def total(a):
        made = 0.0
        for i in numba.prange(len(a)):
            made += a[i]
        return made
    return total(numpy.arange(1000.0))

def tokenizers():
    import tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return [each.ids for each in made.encode_batch(["a b c", "b a"] * 100)]

def tokio():
    import hf_xet  # a runtime of tokio's hashes the files
    return [each.hash for each in hf_xet.hash_files([__file__] * 3)]

def sklearn():
    import numpy
    from sklearn.ensemble import HistGradientBoostingClassifier
    x = numpy.arange(4000.0).reshape(1000, 4)
    return HistGradientBoostingClassifier(max_iter=3).fit(x, x[:, 0] > 2000).predict(x).tolist()

def grpc():
    import grpc
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    answer = grpc.unary_unary_rpc_method_handler(lambda request, context: request + b"!")
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test", {"echo": answer})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        text = channel.unary_unary("/test/echo")(b"text", timeout=60)
    server.stop(None).wait()
    return text

def table():
    import numpy
    x = numpy.arange(4000.0).reshape(1000, 4)
    return x, (x[:, 0] > 2000).astype("i4")

def lightgbm():
    import lightgbm
    x, y = table()
    made = lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 2}, lightgbm.Dataset(x, y), 3)
    return made.predict(x).round(6).tolist()

def xgboost():
    import xgboost
    x, y = table()
    made = xgboost.train({"objective": "binary:logistic", "nthread": 2}, xgboost.DMatrix(x, y), 3)
    return made.predict(xgboost.DMatrix(x)).round(4).tolist()

def duckdb():
    import duckdb
    with duckdb.connect(config={"threads": 2}) as base:
        return base.execute("select i % 7 as k, count(*), sum(i) from range(100000) t(i) group by k order by k").fetchall()

def onnxruntime():
    import numpy, onnxruntime
    # y = x * x: a model of one node, as protobuf writes it.
    node = bytes.fromhex("0a01780a01781201792203 4d756c".replace(" ", ""))
    def value(name):
        return b"\\x0a\\x01" + name + b"\\x12\\x0a\\x0a\\x08\\x08\\x01\\x12\\x04\\x0a\\x02\\x08\\x03"
    graph = bytes([0x0a, len(node)]) + node + b"\\x12\\x01g" + bytes([0x5a, len(value(b"x"))]) + value(b"x")
    graph += bytes([0x62, len(value(b"y"))]) + value(b"y")
    model = b"\\x08\\x08" + bytes([0x3a, len(graph)]) + graph + b"\\x42\\x02\\x10\\x0d"
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": numpy.arange(3, dtype="f4")})[0].tolist()

def threads():
    return len(os.listdir("/proc/self/task"))

def anonymous():
    with open("/proc/self/status") as file:
        return int(re.search(r"RssAnon:\\s+(\\d+)", file.read())[1])

if __name__ == "__main__":
    warnings.simplefilter("error", RuntimeWarning)
    task, count = globals()[sys.argv[1]], int(sys.argv[2])
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        expected = pool.submit(task).result()
    counts, ends, memory = [], [], []
    for i in range(count):
        with gorgon.InterpreterPoolExecutor(1) as pool:
            if pool.submit(task).result() != expected:
                sys.exit("a wrong result")
            end = time.monotonic()
        ends.append(time.monotonic() - end)
        counts.append(gorgon.count())
        memory.append(anonymous())
    until = time.monotonic() + 10
    while threads() > 1 and time.monotonic() < until:  # the last are still ending
        time.sleep(0.01)
    some, first = max(count // 10, 1), min(count // 4, count - 1)
    print("ended", count, max(counts), threads(), (memory[-1] - memory[first]) // max(count - 1 - first, 1),
          *(round(sum(each) / some, 3) for each in (ends[:some], ends[-some:])))
"""
# KiB that each executor may leave.
LIBRARIES = {**dict.fromkeys(["opencv", "polars", "grpc"], 250),
             "tokio": 6000,  # hf_xet: 4.2 MiB
             "tokenizers": 350,  # 880 blocks of regular expressions that it makes once: 290 KiB
             "duckdb": 400,  # 720 blocks of its module and its types: 190 KiB, one of 128 KiB among them
             "onnxruntime": 700,
             **dict.fromkeys(["sklearn", "lightgbm", "xgboost"], 1000),  # blocks of what they import: 530 KiB
             "numba": 6000}  # blocks of LLVM: 4.8 MiB


def check_growth(report, python, site, path):
    result = harness.run(python, path, str(N), env={"PYTHONPATH": site}, timeout=LIMIT)
    seen = [tuple(map(int, words)) for words in re.findall(r"executor (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", result.stdout)]
    ended = bool(seen) and seen[-1][0] == N and not result.returncode
    report.check("pandas and pyarrow: executors", ended, f"{N}, status 0", f"{seen[-1][0] if seen else 0}, status {result.returncode}",
                 result.stdout + result.stderr)
    if not ended:
        return
    first, last = next(row for row in seen if row[0] >= min(FIRST, N)), seen[-1]
    for column, what, most in (1, "anonymous memory", 200), (2, "blocks in use", 40):
        grown = (last[column] - first[column]) / max(last[0] - first[0], 1)
        report.check(f"pandas and pyarrow: {what}", grown < most, f"at most {most} KiB each",
                     f"{grown:.0f} KiB each from the {first[0]}th on: {', '.join(f'{row[column] // 1024} MiB at {row[0]}' for row in seen)}")
    report.check("pandas and pyarrow: mappings", last[3] <= first[3] + 10, f"at most {first[3] + 10}", last[3])
    report.check("pandas and pyarrow: threads, interpreters", last[4:] == (1, 0), "1, 0", f"{last[4]}, {last[5]}")


def check_threads(report, python, site, path, library):
    count = max(N // 5, 1)
    result = harness.run(python, path, library, str(count), env={"PYTHONPATH": site}, timeout=LIMIT)
    seen = re.fullmatch(rf"ended {count} (\d+) (\d+) (-?\d+) (\S+) (\S+)", result.stdout.strip())
    report.check(f"{library}: executors; the most interpreters and the threads that stay", seen and seen[1] == "0" and seen[2] == "1",
                 f"{count}; 0, 1", f"{count}; {seen[1]}, {seen[2]}" if seen else f"status {result.returncode}", result.stdout + result.stderr)
    if seen:
        report.check(f"{library}: memory", int(seen[3]) < LIBRARIES[library], f"less than {LIBRARIES[library]} KiB each",
                     f"{seen[3]} KiB each after a quarter; ends take {seen[4]} s at first, {seen[5]} s at last")


def main(words):
    report = Report("Executors one after the other")
    python = environment("pools")
    with tempfile.TemporaryDirectory() as folder:
        site, path = os.path.join(folder, "site"), os.path.join(folder, "program.py")
        harness.install_package(site)
        if not words or "pandas" in words:
            with open(path, "w") as file:
                file.write(PROGRAM)
            check_growth(report, python, site, path)
        with open(path, "w") as file:
            file.write(THREADS)
        for library in [name for name in LIBRARIES if not words or name in words]:
            check_threads(report, python, site, path, library)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
