#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order in which threads have taken locks, beside the table of docs/architecture.md.

Usage: lock_order.py FOLDER, with what hosts/lock_order.preload.c has written. Prints each pair of locks that the table does not
allow, with the stacks of both, and exits with 1 when there is one."""

import functools
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Table:
    """Rows of the table: a lock is "file:variable", or a file that has one lock only."""

    def __init__(self, text):
        self.ranks, self.leaves, self.others = {}, set(), set()
        section = text.split("\n## Locks\n")[1].split("\n## ")[0]
        rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
        for rank, (lock, _, under) in enumerate(rows):
            for name in re.findall(r"`([\w/*.]+\.c(?::\w+)?|process/\*)`", lock):
                self.ranks[name] = rank
                if re.match(r"\s*lea(f|ves)\b", under):
                    self.leaves.add(name)
                self.others |= set(re.findall(r"`([\w/]+\.c)`", under))

    def row(self, file, variable):
        """The name of a lock in the table, or None."""
        for name in (f"{file}:{variable}", file, f"{file.split('/')[0]}/*"):
            if name in self.ranks:
                return name
        return None


class Places:
    """Names for offsets in programs and libraries."""

    def __init__(self):
        self.known, self.variables = {}, {}

    def resolve(self, wanted):
        by_module = {}
        for place in wanted - self.known.keys():
            module, _, offset = place.rpartition("+")
            by_module.setdefault(module, []).append(offset)
        for module, offsets in by_module.items():
            if not os.path.exists(module):
                self.known.update((f"{module}+{offset}", [("?", module)]) for offset in offsets)
                continue
            found = subprocess.run(["addr2line", "-f", "-i", "-a", "-e", module],
                                   input="".join(f"{int(offset, 16) - 1:#x}\n" for offset in offsets),
                                   capture_output=True, text=True, check=True).stdout
            blocks = re.split(r"^0x[0-9a-f]+\n", found, flags=re.M)[1:]
            for offset, block in zip(offsets, blocks, strict=True):
                lines = block.splitlines()
                self.known[f"{module}+{offset}"] = [(lines[i], self.file(lines[i + 1])) for i in range(0, len(lines) - 1, 2)]

    @staticmethod
    def file(text):
        """"loader/base/lock.c:24" of what addr2line prints."""
        path = re.sub(r" \(discriminator \d+\)", "", text)
        found = re.search(r"\b((?:loader|jitreg|tools|tests)/[\w./]+:\d+)$", os.path.normpath(path.rsplit(":", 1)[0]) + ":" + path.rsplit(":", 1)[1])
        return found.group(1) if found else path

    def variable(self, place):
        """File and name of a static variable."""
        module, _, offset = place.rpartition("+")
        if not os.path.exists(module):
            return "", ""
        if module not in self.variables:
            file, table = "", []
            for line in subprocess.run(["readelf", "-sW", module], capture_output=True, text=True, check=True).stdout.splitlines():
                words = line.split()
                if len(words) == 8 and words[3] == "FILE":
                    file = words[7]
                elif len(words) == 8 and words[3] == "OBJECT" and words[6] != "UND":
                    table.append((int(words[1], 16), int(words[2], 0), file if words[4] == "LOCAL" else "", words[7]))
            self.variables[module] = table
        at = int(offset, 16)
        for start, size, file, name in self.variables[module]:
            if start <= at < start + max(size, 1):
                return file, name
        return "", ""


class Pair:
    def __init__(self, line):
        fields = [field.split() for field in line.split("|")]
        (self.held,), self.held_stack, (self.taken,), self.taken_stack = fields

    def places(self):
        return {place.lstrip("?@") for place in (self.held, self.taken) if "@" in place} | set(self.held_stack) | set(self.taken_stack)


@functools.lru_cache
def sources():
    return [os.path.relpath(path, ROOT) for folder in ("loader", "jitreg") for path in glob.glob(f"{ROOT}/{folder}/**/*.c", recursive=True)
            if re.search(r"pthread_mutex_t|pthread_mutex_init|gorgon_masked_lock", open(path).read())]


def identify(lock, stack, places):
    """File and variable of a lock."""
    if "@" not in lock:
        base, name = places.variable(lock)
        files = [file for file in sources() if os.path.basename(file) == base]
        # Several files may have the name: then the one whose code takes it.
        for place in stack:
            for _, where in places.known[place]:
                if where.split(":")[0] in files:
                    return where.split(":")[0], name
        return files[0] if len(files) == 1 else base, name
    # A call of pthread_mutex_init() at a function's end returns to that function's caller.
    for place in (lock.lstrip("?@"), *stack[:2]):
        for _, where in places.known[place]:
            if where.split(":")[0] in sources():
                return where.split(":")[0], ""
    return "?", ""


def is_ours(stack, places):
    return any(where.startswith(("loader/", "jitreg/")) for _, where in places.known[stack[0]])


def show(stack, places):
    return "".join(f"      {function}  {where}\n" for place in stack for function, where in places.known[place])


def check(pairs, table, places):
    """What is wrong, and how many different pairs there were."""
    places.resolve(set().union(*(pair.places() for pair in pairs)) if pairs else set())
    problems, seen = {}, set()
    for pair in pairs:
        # A python3 and the tests have mutexes of their own.
        if not all(is_ours(stack, places) for stack in (pair.held_stack, pair.taken_stack)):
            continue
        held, taken = (identify(lock, stack, places) for lock, stack in
                       ((pair.held, pair.held_stack), (pair.taken, pair.taken_stack)))
        rows = [table.row(file.split("/", 1)[1] if file.startswith("loader/") else file, name) for file, name in (held, taken)]
        functions = {function for place in pair.held_stack + pair.taken_stack for function, _ in places.known[place]}
        forks = bool(functions & {"gorgon_before_fork", "gorgon_parts_before_fork", "jitreg_before_fork"})
        seen.add((held, taken))
        if None in rows:
            why = f"{' '.join(held if rows[0] is None else taken)} is in no row of the table"
        elif held == taken or rows[0] == rows[1]:
            why = None if forks else "both are in one row"
        elif table.ranks[rows[0]] > table.ranks[rows[1]]:
            why = "the table has them the other way"
        elif rows[0] in table.leaves and held[0].removeprefix("loader/") not in table.others and not forks:
            why = "the first one is a leaf"
        else:
            why = None
        if why:
            problems.setdefault((held, taken, why), f"{':'.join(held)}, and under it {':'.join(taken)}: {why}\n"
                                f"    held by\n{show(pair.held_stack, places)}    taken by\n{show(pair.taken_stack, places)}")
    return [problems[key] for key in sorted(problems)], len(seen)


def build_preload(path):
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer", "-shared", "-fPIC",
                    f"{ROOT}/tests/hosts/lock_order.preload.c", "-o", path], check=True)


def environment(preload, folder):
    """For programs that write into the folder."""
    os.makedirs(os.path.join(folder, "modules"), exist_ok=True)
    return {"LD_PRELOAD": preload, "LOCK_ORDER_FOLDER": folder}


def read(folder):
    """What was written; a process that is ended may leave a file without its line."""
    texts = []
    for entry in os.scandir(folder):
        if entry.is_file():
            with open(entry.path) as file:
                texts.append(file.read())
    return [Pair(text) for text in texts if text.count("|") == 3 and text.endswith("\n")]


def read_table():
    with open(os.path.join(ROOT, "docs", "architecture.md")) as file:
        return Table(file.read())


if __name__ == "__main__":
    found, number = check(read(sys.argv[1]), read_table(), Places())
    print("\n".join(found) or f"{number} pairs of locks, as the table has them")
    sys.exit(bool(found))
