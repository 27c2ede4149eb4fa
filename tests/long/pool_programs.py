#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs for ProcessPoolExecutor, or ThreadPoolExecutor, with one import changed: interpreters print what those do.

Usage: pool_programs.py [NAME]...

Programs are programs/pools/NAME.py. A note that ends with "Options: ..." says what a program needs besides the import.
What they import is pinned in requirements-pools.txt and installed in a virtual environment. PARALLEL and SEARCH are programs
of joblib and scikit-learn, of which the backend is changed, CELLS those of a notebook, which a kernel of Jupyter runs."""

import glob
import json
import os
import re
import sys
import tempfile

from report import Report
from sources import environment
import harness

HERE = os.path.dirname(os.path.abspath(__file__))
IMPORTS = r"from concurrent\.futures import (.*, )?(Process|Thread)PoolExecutor(, .*)?\n"
PARALLEL = """
import joblib, numpy
from joblib import Parallel, delayed, parallel_config
import gorgon.joblib
class Point:
    def __init__(self, x): self.x = x
def square(x): return x * x
def move(point): return Point(point.x + 1)
def total(i, array): return i, float(array.sum())
def fail(x):
    if x == 3: raise ValueError(x)
    return x
def nested(n): return Parallel(n_jobs=2)(delayed(abs)(-i) for i in range(n))
if __name__ == "__main__":
    with parallel_config("BACKEND", n_jobs=2):
        print(Parallel()(delayed(square)(i) for i in range(100)))
        print([point.x for point in Parallel()(delayed(move)(Point(i)) for i in range(3))])
        print(Parallel()(delayed(total)(i, numpy.arange(i * 1000)) for i in range(4)))
        print(list(Parallel(return_as="generator")(delayed(square)(i) for i in range(5))))
        print(Parallel()(delayed(nested)(i) for i in range(3)))
        try:
            Parallel()(delayed(fail)(i) for i in range(20))
        except ValueError as error:
            print(error)
        with Parallel() as parallel:
            print([parallel(delayed(abs)(-i) for i in range(3)) for _ in range(2)])
    print(Parallel(n_jobs=1)(delayed(abs)(i) for i in range(3)))
"""
POOL = """
import joblib, gorgon.joblib
from gorgon import InterpreterPoolExecutor
def where(i): return gorgon.interpreter
if __name__ == "__main__":
    with InterpreterPoolExecutor(2) as pool, joblib.parallel_config("gorgon", pool=pool):
        for _ in range(2):
            print(set(joblib.Parallel()(joblib.delayed(where)(i) for i in range(20))) <= {0, 1}, pool.submit(abs, -1).result())
"""


SEARCH = """
import joblib
import gorgon.joblib
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
if __name__ == "__main__":
    x, y = make_classification(300, 10, random_state=0)
    with joblib.parallel_config("BACKEND", n_jobs=2):
        line = make_pipeline(StandardScaler(), LogisticRegression())
        search = GridSearchCV(line, {"logisticregression__C": [0.01, 0.1, 1]}, cv=3).fit(x, y)
        print(search.best_params_, round(search.best_score_, 6))
        forest = RandomForestClassifier(20, random_state=0).fit(x, y)
        print(round(forest.score(x, y), 6), forest.predict_proba(x[:3]).round(3).tolist())
        print(cross_val_score(forest, x, y, cv=3).round(6).tolist())
"""
CELLS = ["""
IMPORT
import dataclasses, os
import pandas as pd
from tqdm import tqdm
K = 3
@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5
def scale(point): return Point(point.x * K, point.y * K)
""", """
with ProcessPoolExecutor(2) as pool:
    print([point.norm() for point in pool.map(scale, [Point(i, i + 1) for i in range(3)])])
""", """
K = 10
Point.norm = lambda self: abs(self.x) + abs(self.y)
with ProcessPoolExecutor(2) as pool:
    print([point.norm() for point in pool.map(scale, [Point(i, i + 1) for i in range(3)])])
""", """
frame = pd.DataFrame({"city": ["Bern", "Basel", "Genf"] * 200, "n": range(600)})
def summary(item):
    city, part = item
    return city, len(part), int(part.n.sum()), round(float(part.n.std()), 6)
with open(os.devnull, "w") as nowhere, ProcessPoolExecutor(2) as pool:
    rows = list(tqdm(pool.map(summary, frame.groupby("city")), total=3, file=nowhere))
pd.DataFrame(rows, columns=["city", "count", "sum", "std"]).set_index("city")
""", """
def fail(x): return 1 / x
with ProcessPoolExecutor(1) as pool:
    try:
        pool.submit(fail, 0).result()
    except ZeroDivisionError as error:
        print(type(error).__name__, error)
"""]
NOTEBOOK = """
import nbclient, nbformat
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
for cell in book.cells:
    for output in cell.outputs:
        print(output.get("text") or output.get("data", {}).get("text/plain") or output)
"""


def notebook(line):
    """A program that runs the notebook, with a line that imports the executor."""
    return NOTEBOOK.replace("CELLS", repr([cell.replace("IMPORT", line) for cell in CELLS]))


EXAMPLE = os.path.join(harness.ROOT, "examples", "notebook.ipynb")
EXAMPLE_RUN = f"""
import nbclient, nbformat
book = nbformat.read({EXAMPLE!r}, 4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
print("".join(output["text"] for cell in book.cells for output in cell.get("outputs", ())), end="")
"""


def printed_in(path):
    with open(path) as file:
        return "".join(line for cell in json.load(file)["cells"] for output in cell.get("outputs", ()) for line in output["text"])


def without_memory(text):
    return re.sub(r"\S+ times its memory", "", text)


def run(python, site, folder, name, code):
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w") as file:
        file.write(code)
    return harness.run(python, path, env={"PYTHONPATH": site})


def changed(code):
    """The program with the other executor."""
    def replace(match):
        others = ", ".join(filter(None, [name.strip(", ") for name in (match[1] or "", match[3] or "")]))
        return (f"from concurrent.futures import {others}\n" if others else "") + \
            f"from gorgon import InterpreterPoolExecutor as {match[2]}PoolExecutor\n"
    code, count = re.subn(IMPORTS, replace, code)
    assert count == 1
    option = re.search(r'Options: (.*)"""', code)
    return re.sub(r"(ProcessPoolExecutor\([^)]*)\)", rf"\1, {option[1]})", code) if option else code


def compare(report, title, processes, interpreters):
    mine, other = ((result.returncode, result.stdout, result.stderr) for result in (interpreters, processes))
    report.check(title, mine == other and not mine[0], "what the others print",
                 f"status {mine[0]}, {len(mine[1].splitlines())} lines", "\n".join([*other[1:], *mine[1:]]))


def main(words):
    report = Report("Programs for pools")
    python = environment("pools")
    with tempfile.TemporaryDirectory() as site, tempfile.TemporaryDirectory() as folder:
        harness.install_package(site)
        for path in sorted(glob.glob(os.path.join(HERE, "programs", "pools", "*.py"))):
            name = os.path.splitext(os.path.basename(path))[0]
            if words and name not in words:
                continue
            with open(path) as file:
                code = file.read()
            compare(report, name, run(python, site, folder, name, code), run(python, site, folder, name, changed(code)))
        if not words or "joblib" in words:
            compare(report, "joblib", *(run(python, site, folder, "parallel", PARALLEL.replace("BACKEND", backend))
                                        for backend in ("loky", "gorgon")))
            compare(report, "scikit-learn", *(run(python, site, folder, "search", SEARCH.replace("BACKEND", backend))
                                              for backend in ("loky", "gorgon")))
            result = run(python, site, folder, "given", POOL)
            report.check("joblib, a pool that is given", result.stdout == "True 1\n" * 2, "True 1, twice", result.stdout,
                         result.stderr)
        if not words or "jupyter" in words:
            compare(report, "a notebook in Jupyter", *(run(python, site, folder, "notebook", notebook(line)) for line in (
                "from concurrent.futures import ProcessPoolExecutor", "from gorgon import InterpreterPoolExecutor as ProcessPoolExecutor")))
            stored, result = printed_in(EXAMPLE), run(python, site, folder, "example", EXAMPLE_RUN)
            report.check("examples/notebook.ipynb in Jupyter", without_memory(result.stdout) == without_memory(stored), without_memory(stored),
                         without_memory(result.stdout), result.stderr)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
