# SPDX-License-Identifier: MIT
"""Where ours may differ from both process pools, and the sentence of a document that says so.

OPERATIONS: an operation, what ours must be instead, the document and the sentence. What it must be
is "thread": what a ThreadPoolExecutor gives, or a regular expression for the step's lines, without
their prefix.
TEXTS: what is one text in ours and another in a process pool's, in any operation: a regular
expression, and what has its place in all modes before lines are compared."""

import re

README = "python/README.md"

CODE = README, "Functions of `__main__`, lambdas and functions within others go as their code."
CLASSES = README, "Classes of `-c`, of the prompt, of a notebook, within functions"
SHIPPED = README, "shipped to each worker once, and again when they have changed"
BROKEN = README, "What cannot be unpickled fails its own call"
OPERATIONS = [
    ("lambda", "thread", *CODE),
    ("nested function", "thread", *CODE),
    ("decorated function is not found", "thread", *CODE),
    ("decorated function is not found", r"_pickle.PicklingError.*not the same object.*", *CODE),
    ("local class", "thread", *CLASSES),
    ("global rebound between calls", "thread", *SHIPPED),
    ("global changed in place between calls", "thread", *SHIPPED),
    ("global set before the first call", "thread", *SHIPPED),
    ("globals by name in text", r"(4|NameError.*) (3|KeyError.*)",
     README, "those for `globals()[\"LIMIT\"]` or `eval()` do not"),
    ("memoryviews", "thread", README, "A `memoryview` is an argument like an array"),
    ("call that fills a buffer of the program", r"ValueError\('assignment destination is read-only'.*",
     README, "nor an array that a global of the program has"),
    ("owned results", r"True True\nndarray.*", README, "writable and can be resized"),
    ("exception in unpickling a result", "(Type|Value|Import)Error", *BROKEN),
    ("exception in unpickling an argument", "(Type|Value|Import|NotShareable)Error", *BROKEN),
    ("exception that does not pickle", "RemoteError True",
     README, "One that cannot be pickled is a `gorgon.RemoteError` with its type and text"),
    ("multiprocessing objects as arguments", "str",
     README, "as arguments of calls and of initializers"),
    ("work that kills its program is the program's", "3 ",
     README, "A crash, and `os._exit()`, are the process's"),
]
TEXTS = [
    (r"\b(Process|Thread|Interpreter)PoolExecutor\b", "Executor",
     README, "It is an executor as `concurrent.futures` describes them"),
    (r"\b__main__\.(?=\w+: )", "",
     README, "Its text names classes of the program's file as spawn's workers do"),
    # Since CPython 3.14 pickle notes in what the object lies that fails, and each kind of pool packs calls and results otherwise.
    (r""" notes \[["']when serializing [^\]]*\]""", "", README, "arrive as they are, with the traceback of the interpreter as their cause"),
]
# The same for a cluster, where each line is one of a process pool's or of dask's own worker's: copies and errors are those of
# an executor, what the client sends is dask's. An operation's lines are as a regular expression says.
CLUSTER_TEXTS = [
    (r" from there", "", README, "arrive as they are, with the traceback of the interpreter as their cause"),
    (r"\brecarray\(", "ndarray(", README, "Tasks get copies of what the worker keeps"),  # dask makes the one of the other
]
CLUSTER = [
    ("own reduce", r"tuple\(Reduced\w+\(dict\('value': \d+\)\), \"Reduced\w+\(dict\('value': \d+\)\)\", 'Reduced\w+'\) True False",
     README, "Tasks get copies of what the worker keeps"),
    # dask gives each task's functions globals of their own.
    ("timer that stays from call to call", r"list\(\)", README, "Tasks get copies of what the worker keeps"),
    ("deep values", r"\d+ \d+ RecursionError TypeError", README, "Tasks get copies of what the worker keeps"),
]


class Differences:
    """strict: nothing may differ."""

    def __init__(self, strict=False):
        self.by_name, self.texts, self.is_strict = {}, [] if strict else TEXTS, strict
        for operation, expected, *_ in [] if strict else OPERATIONS:
            self.by_name.setdefault(operation, []).append(expected)

    def is_like_thread(self, operation):
        return "thread" in self.by_name.get(operation, ())

    def why(self, operation, mode, lines, others):
        """What allows the lines of this mode; @lines: by mode what was printed; @others: what else
        it may be like. None: nothing does."""
        mine = lines[mode]
        for peer in "fork", *others:
            if lines.get(peer) == mine:
                return peer
        for expected in self.by_name.get(operation, ()):
            if expected == "thread":
                if lines.get("thread") == mine:
                    return "thread"
            elif re.fullmatch(expected, "\n".join(line.partition("| ")[2] for line in mine[1:])):
                return "said"
        for peer in filter(lines.get, ("fork", "spawn", *others)):
            if lines[peer] == mine:
                return peer
            if self.plain(lines[peer]) == self.plain(mine):
                return f"{peer}, but for texts"
        return self.why_cluster(operation, lines, others) if mode == "cluster" and not self.is_strict else None

    def why_cluster(self, operation, lines, others):
        texts = {peer: [self.plain([line], CLUSTER_TEXTS) for line in lines.get(peer, ())] for peer in ("cluster", "fork", *others)}
        mine = texts.pop("cluster")
        if all(any(line in peer[i:i + 1] for peer in texts.values()) for i, line in enumerate(mine)):
            return "fork and dask-cluster, line by line"
        said = " ".join(line.partition("| ")[2] for line in mine[1:])
        return "said" if any(operation == name and re.fullmatch(expected, said) for name, expected, *_ in CLUSTER) else None

    def plain(self, lines, more=()):
        text = "\n".join(lines)
        for pattern, replacement, *_ in (*self.texts, *more):
            text = re.sub(pattern, replacement, text)
        return text
