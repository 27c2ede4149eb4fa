# SPDX-License-Identifier: MIT
"""What run/test_process_inventory.py compares: the names that the C library has, who imports
them, and what the manual says of them."""

import collections
import concurrent.futures
import glob
import gzip
import os
import re
import subprocess
import sys
import textwrap

from harness import ROOT

sys.path.insert(0, f"{ROOT}/tools")
import process  # noqa: E402

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# The C library's own, which is shared: loader/ns/policy.c.
C_LIBRARY = ["libc.so.6", "libm.so.6", "libmvec.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1",
             "libanl.so.1", "libresolv.so.2", "libnsl.so.1", "ld-linux-x86-64.so.2"]
# What Python's users have: extensions, and the libpythons. Libraries that these need are found from there.
CORPUS = ["/usr/lib/python3*", f"{LIBRARIES}/libpython3*", f"{ROOT}/build/venv/lib"]
CENSUS = f"{ROOT}/tests/process/census.txt"
MANUAL = "/usr/share/man"
AT_ONCE = 60  # files for each call of nm


class Missing(Exception):
    """Something that tools/setup.sh installs is not there."""


def symbols(option, files):
    """[(file, name, version)] of the dynamic symbols of @files; a file that is no object is passed over."""
    found = []
    told = subprocess.run(["nm", "-D", "-A", option, *files], capture_output=True, text=True, check=False,
                          errors="replace")
    for line in told.stdout.splitlines():
        file, _, rest = line.partition(":")
        name, _, version = rest.split()[-1].partition("@")
        found.append((file, name, version.strip("@")))
    return found


def defined():
    """{name: {library: addresses}} of the names that the C library exports."""
    names = collections.defaultdict(lambda: collections.defaultdict(set))
    for library in filter(lambda name: os.path.exists(f"{LIBRARIES}/{name}"), C_LIBRARY):
        told = subprocess.run(["nm", "-D", "--defined-only", f"{LIBRARIES}/{library}"], capture_output=True, text=True,
                              check=True)
        for line in told.stdout.splitlines():
            address, kind, name = line.split()
            name, _, version = name.partition("@")
            if kind != "A" and version.strip("@") != "GLIBC_PRIVATE":
                names[name][library].add(address)
    return names


def corpus(folders=()):
    """Every extension that is installed, and in more @folders, with what they need of the system's libraries; without
    repetitions."""
    found = set()
    for pattern in [*CORPUS, *folders]:
        for path in glob.glob(pattern):
            files = [path] if os.path.isfile(path) else [f"{where}/{name}" for where, _, names in os.walk(path) for name in names]
            found.update(os.path.realpath(file) for file in files if ".so" in os.path.basename(file))
    found = {file for file in found if os.path.isfile(file) and is_elf(file)}
    more = found
    while more:
        libraries = {os.path.realpath(f"{LIBRARIES}/{name}") for name in needed(sorted(more)) if name not in C_LIBRARY}
        more = {file for file in libraries - found if os.path.isfile(file)}
        found |= more
    return sorted(found)


def needed(files):
    """The names of DT_NEEDED of these files."""
    names = set()
    for i in range(0, len(files), AT_ONCE):
        told = subprocess.run(["readelf", "-d", "-W", *files[i:i + AT_ONCE]], capture_output=True, text=True, check=False,
                              errors="replace")
        names.update(re.findall(r"\(NEEDED\).*\[(.*)\]", told.stdout))
    return names


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def imports(names, folders=()):
    """{name: objects that import it} for those @names that come from the C library."""
    files = corpus(folders)
    found = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = [files[i:i + AT_ONCE] for i in range(0, len(files), AT_ONCE)]
        for part in pool.map(lambda part: symbols("--undefined-only", part), parts):
            for file, name, version in part:
                if name in names and (not version or version.startswith("GLIBC_")) and version != "GLIBC_PRIVATE":
                    found[name].add(file)
    return found


# --- the manual ---------------------------------------------------------------------------------

def unformatted(text):
    """troff without changes of font, of filling, and comments; one space for each that may not break."""
    text = re.sub(r'^[.\'](?:\\"|(?:ad|hy|na|nh|sp)\b).*\n', "", text, flags=re.M)
    text = re.sub(r'^\.(?:BI|BR|B|IB|IR|I|RB|RI) +|"', "", text, flags=re.M)
    return re.sub(r"\\f.|\\[&%:c]|\\,|\\/", "", text).replace("\\ ", " ").replace("\\-", "-")


def section(text, title):
    found = re.search(rf'^\.SH "?{title}"?\n(.*?)(?=^\.SH |\Z)', text, re.S | re.M)
    return unformatted(found[1]) if found else ""


def rows(table):
    """The rows of the body of a tbl(1) table, with cells without T{ and T}; \\^ repeats the cell above."""
    cells = re.sub(r"T\{\n(.*?)\nT\}", lambda cell: " ".join(cell[1].split()), table, flags=re.S)
    above = []
    for line in cells.splitlines():
        row = [cell.strip() for cell in line.split("\t")]
        above = [above[i] if cell == "\\^" and i < len(above) else cell for i, cell in enumerate(row)]
        if len(above) == 3:
            yield above


def attributes(text):
    """[(names, what the page says of threads)]."""
    found = []
    for table in re.findall(r"^\.TS\n(.*?)^\.TE", text, re.S | re.M):
        table = unformatted(table).replace("Thread\nsafety", "Thread safety")
        for interface, attribute, value in rows(table):
            if attribute == "Thread safety":
                found.append((re.findall(r"(\w+) ?\(", interface), value))
    return found


def manual():
    """({name: sections of the manual that have it}, {name: what the pages say of threads})."""
    sections, values = collections.defaultdict(set), collections.defaultdict(set)
    pages = [page for number in "23" for page in glob.glob(f"{MANUAL}/man{number}*/*.gz") if "posix" not in page]
    if len(pages) < 2000:
        raise Missing(f"{len(pages)} pages below {MANUAL}: install manpages-dev")
    for path in pages:
        with gzip.open(path, "rt", errors="replace") as file:
            text = file.read()
        number = re.search(r"\.([23])\w*\.gz$", path)
        if not number or text.startswith(".so "):
            continue
        names = set(re.findall(r"\b([A-Za-z_]\w*) ?\(", section(text, "SYNOPSIS")))
        names.update(re.findall(r"\b[A-Za-z_]\w*", re.split(r"\s-\s", section(text, "NAME"))[0]))
        for name in names:
            sections[name].add(number[1])
        for found, value in attributes(text):
            for name in found:
                values[name].add(value)
    return sections, values


# --- decisions ------------------------------------------------------------------------------------

def variants(name):
    """Names of which @name may be another form: fortified, with 64-bit offsets, internal."""
    for form in (r"__(\w+?)_chk", r"__(\w+)_2", r"__isoc\d+_(\w+)", r"__(\w+)_internal", r"_IO_(\w+)",
                 r"(\w+?)64v2", r"(\w+?)64", r"(\w+?)64(_r)", r"__(\w+)"):
        found = re.fullmatch(form, name)
        if found:
            yield "".join(found.groups())


class Decisions:
    """The decision about each name: @topics as tools/process.py reads them, @entries of build/inventory."""

    def __init__(self, topics, entries):
        self.groups = process.groups(topics)
        self.bound = {entry["name"]: entry["decision"] for entry in reversed(entries)}  # the first counts
        self.parts = collections.defaultdict(set)
        for entry in entries:
            self.parts[entry["name"]].add(entry.get("part", 0))
        self.exact = {name: group for group in self.groups for name in group.names if re.fullmatch(r"\w+", name)}

    def find(self, name, library=None):
        """The group or the decision of a bound name, or None. Names of which it is a variant do not count."""
        if name in self.bound:
            return self.bound[name]
        return self.exact.get(name) or next((group for group in self.groups if group.covers(name, library)), None)

    def missing(self, name, library=None):
        """Why there is no decision on a name; None: there is one."""
        if self.find(name, library):
            return None
        names, seen = [name], set()
        for form in names:  # the list grows meanwhile
            seen.add(form)
            names += [base for base in variants(form) if base not in seen]
            if form in self.bound:
                return f"no decision; {form} is {self.bound[form]}, and this goes past it"
            if form != name and self.find(form):
                return None
        return "no decision"


def only_library(where):
    """The only library that defines a name, of {library: addresses}, or None."""
    return next(iter(where)) if len(where) == 1 else None


def undecided(decisions, names, importers):
    """A line for each imported name on which nothing is decided, with an object that imports it."""
    problems = []
    for name, objects in sorted(importers.items()):
        why = decisions.missing(name, only_library(names[name]))
        if why:
            problems.append(f"{name}: {why}; {min(objects)} imports it")
    return problems


def contradictions(decisions):
    """What the inventory says twice, or otherwise than the code."""
    problems = []
    counts = collections.Counter(name for group in decisions.groups for name in group.names)
    problems += [f"{name}: decided {count} times" for name, count in sorted(counts.items()) if count > 1]
    problems += [f"{name}: bound by {len(parts - {0})} parts, of which only the first is called"
                 for name, parts in sorted(decisions.parts.items()) if len(parts - {0}) > 1]
    for group in decisions.groups:
        for name in group.names:
            ours = decisions.bound.get(name)
            if group.decision in process.OURS and ours != group.decision:
                problems.append(f"{name}: {group.decision}, but for private code it is {ours or 'the system' + chr(39) + 's'}")
            elif ours and group.decision not in process.OURS:
                problems.append(f"{name}: {group.decision}, but private code gets ours")
    return problems


def unknown(decisions, names, sections, version):
    """Names with a decision that neither the C library nor its manual has, without those of a later version than
    @version."""
    compilers = {name for library in ("libgcc_s.so.1", "libstdc++.so.6")
                 for _, name, _ in symbols("--defined-only", [f"{LIBRARIES}/{library}"])}
    problems = []
    for group in decisions.groups:
        for name in group.names:
            since = tuple(map(int, group.since.get(name, "0.0").split(".")))
            known = name in names or name in sections or name.startswith("@") and name[1:] in C_LIBRARY or \
                "*" in name and any(group.covers(other) for other in names)
            if since <= version and not known and name not in decisions.bound:
                problems.append(f"{name}: no such name in the C library")
    later = {name for group in decisions.groups for name, since in group.since.items() if tuple(map(int, since.split("."))) > version}
    return problems + [f"{name}: bound, but no such name in the C library"
                       for name in sorted(decisions.bound.keys() - names.keys() - compilers - later)]


def doubtful(decisions, names, sections, values):
    """Names that are said to have no state, of which the manual says something else."""
    problems = []
    for name in sorted(names):
        group = decisions.find(name, only_library(names[name]))
        if not isinstance(group, process.Group) or group.decision != "stateless":
            continue
        says = sorted(values.get(name, set()) - {"MT-Safe"})
        if "2" in sections.get(name, ()):
            says.append("a system call")
        if says:
            problems.append(f"{name}: no state, but the manual says: {', '.join(says)}")
    return problems


# --- the census -----------------------------------------------------------------------------------

def census():
    """{name: how many files import it}, as it was committed."""
    with open(CENSUS) as file:
        return {name: int(count) for name, count in re.findall(r"(\w+):(\d+)", file.read())}


def without_importer(entries, counted):
    """Names that private code gets from us although nobody imports a name that we answer for the same reason."""
    rows = process.bound_rows([{"decision": "own", "title": None, "reason": "", **entry} for entry in entries], ())
    return [f"{', '.join(names)}: nobody imports one of them" for _, names, _, _ in rows if not any(name in counted for name in names)]


def take_census(folders):
    files, names = corpus(folders), defined()
    counts = " ".join(f"{name}:{len(found)}" for name, found in sorted(imports(names, folders).items()) if found)
    with open(CENSUS, "w") as file:
        file.write(f"# How many of {len(files)} files import a name of the C library: the libpythons, extensions of the standard library,\n"
                   "# of Debian's packages and of wheels, and the libraries that they need. `make census FOLDERS=...` counts again.\n")
        file.write(textwrap.fill(counts, 130, break_on_hyphens=False) + "\n")


if __name__ == "__main__":
    take_census(sys.argv[1:])
