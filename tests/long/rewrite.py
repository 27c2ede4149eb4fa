#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every extension module of the system's and the test environment's Python, and the libraries that they need, rewritten:
what readers and checkers say of the copies, and that the system's linker loads them as it loads the originals."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from report import Report
from harness import BUILD, LIBPYTHON, PYTHON3, ROOT, run

REWRITE = os.path.join(BUILD, "rewrite")
PLACES = ["/usr/lib/python3*", os.path.join(ROOT, "build", "venv")]
# A process has one of each of these, and cannot get a second one.
SHARED = re.compile(r"(ld-linux|libc|libm|libdl|librt|libpthread|libutil|libresolv|libgcc_s|libstdc\+\+)[-.]")
# More than linkers leave room for, and there on every system.
MANY = ["libm.so.6", "libdl.so.2", "librt.so.1", "libutil.so.1", "libpthread.so.0", "libresolv.so.2", "libanl.so.1"]
# It adds the size of a relocation's symbol to its place; see loader/copy/rewrite.c.
LINT_OF_LARGE_SYMBOLS = re.compile(r"^section .*: read-only section modified but text relocation flag not set\n", re.M)
# Of files that another tool has rewritten: it left empty segments and an old _DYNAMIC. Moving .dynamic again leaves
# one more such segment, and that symbol is wrong by another distance.
LINT_OF_REWRITTEN = re.compile(r"^loadable segment .* is writable but contains no writable sections\n"
                               r"|(?<=_DYNAMIC_ symbol value )0x\w+ does not match dynamic segment address 0x\w+$", re.M)


def is_shared_object(path):
    with open(path, "rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16:18] == b"\x03\x00"


def modules():
    found = set()
    for place in PLACES:
        for path in glob.glob(os.path.join(place, "**", "*.so*"), recursive=True):
            if os.path.isfile(path) and is_shared_object(path):
                found.add(os.path.realpath(path))
    return found


def libraries(paths):
    """The libraries that these files need, directly or not, except those that exist once in a process."""
    lines = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False).stdout
    found = {os.path.realpath(path) for path in re.findall(r"=> (/\S+) \(", lines)}
    return {path for path in found if not SHARED.match(os.path.basename(path))}


def dynamic(path):
    """{tag: [value, ...]} of the names in the dynamic section."""
    tags = {}
    for tag, value in re.findall(r"\((NEEDED|SONAME|RPATH|RUNPATH)\) .*\[(.*)\]", run("readelf", "-dW", path).stdout):
        tags.setdefault(tag, []).append(value)
    return tags


def version_files(path):
    return re.findall(r"Version: \d+  File: (\S+)", run("readelf", "-VW", path).stdout)


def build_ids(path):
    return re.findall(r"Build ID: (\w+)", run("readelf", "-nW", path).stdout)


def complaints(path):
    """Of a checker and of a reader."""
    lint = run("eu-elflint", "--gnu-ld", path)
    return LINT_OF_LARGE_SYMBOLS.sub("", lint.stdout + lint.stderr).replace("No errors\n", ""), \
        run("readelf", "-aW", path).stderr.replace(path, "FILE")


def loads(path):
    """What the system's linker makes of a file, in a process of its own."""
    code = "import ctypes, os, sys\nctypes.CDLL(sys.argv[1], os.RTLD_NOW | os.RTLD_LOCAL)\nprint('loaded', flush=True)\nos._exit(0)"
    result = run(PYTHON3, "-c", code, path)
    text = result.stdout or result.stderr.strip().splitlines()[-1]
    return result.returncode, re.sub(r"/\S+?(?=: )", "FILE", text)


class Rewritten:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.old, self.old_complaints = dynamic(path), complaints(path)
        self.renamed = {name: f"copy-of-{name}" for name in self.old.get("NEEDED", []) if not SHARED.match(name)}

    def write(self, name, *options):
        self.to = os.path.join(self.folder, name)
        return run(REWRITE, *options, self.path, self.to)

    def problems(self, soname, add, runpath):
        """How a copy differs from what was asked for, and what tools find wrong that they did not find before."""
        new = dynamic(self.to)
        needed = [self.renamed.get(name, name) for name in self.old.get("NEEDED", [])]
        expected = {"SONAME": [soname], "NEEDED": [name for name in add if name not in needed] + needed}
        for tag in ("RPATH", "RUNPATH"):
            if tag in self.old and not runpath:
                expected[tag] = self.old[tag]
        if runpath:
            expected["RUNPATH"] = [runpath] * max(1, len(self.old.get("RPATH", []) + self.old.get("RUNPATH", [])))
        if new != expected:
            yield f"{new}, expected {expected}"
        old_files, files = version_files(self.path), version_files(self.to)
        if files != [self.renamed.get(name, name) for name in old_files]:
            yield f"versions of {files}, were of {old_files}"
        if build_ids(self.to) != build_ids(self.path):
            yield "another build-id"
        for old, found in zip(self.old_complaints, complaints(self.to)):
            if LINT_OF_REWRITTEN.search(old):
                old, found = (LINT_OF_REWRITTEN.sub("", text) for text in (old, found))
            if found != old:
                yield f"complaints {found[:300]!r}, were {old[:300]!r}"


def names_and_layout(case, moved):
    """A copy with every name changed; .dynamic has room for them, or moves."""
    soname = "copy-of-" + os.path.basename(case.path)
    add = ["libpython-copy.so"] + (MANY if moved else [])
    runpath = "/elsewhere" if moved else None
    options = ["--soname", soname] + [option for name in add for option in ("--add", name)]
    options += [option for name in case.renamed.items() for option in ("--replace", "=".join(name))]
    options += ["--runpath", runpath] if moved else []
    result = case.write(f"names-{moved}.so", *options)
    if result.returncode:
        return [result.stderr.strip()]
    found = list(case.problems(soname, add, runpath))
    os.unlink(case.to)
    return found


def loading(case, moved):
    """A copy with its own name that needs what the original needs loads, or fails, as the original does."""
    # $ORIGIN is where the original is.
    paths = case.old.get("RUNPATH") or case.old.get("RPATH") or []
    origin = [path.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", os.path.dirname(case.path)) for path in paths]
    options = [option for path in origin for option in ("--runpath", path)]
    options += [option for name in (MANY if moved else []) for option in ("--add", name)]
    result = case.write(f"loads-{moved}.so", "--soname", "copy-of-" + os.path.basename(case.path), *options)
    if result.returncode:
        return [result.stderr.strip()]
    old, new = loads(case.path), loads(case.to)
    os.unlink(case.to)
    return [] if new == old else [f"{new}, the original {old}"]


def main():
    report = Report("Copies of files")
    if not shutil.which("eu-elflint"):
        report.skip("all", "eu-elflint is absent")
        return report.finish()
    extensions = modules()
    files = sorted(extensions | libraries(extensions) | {LIBPYTHON})
    checks = [(f"{what}, .dynamic {'moved' if moved else 'as it comes'}", function, moved)
              for what, function in (("names, versions, build-id, eu-elflint and readelf", names_and_layout),
                                     ("dlopen", loading)) for moved in (False, True)]
    failures = {name: [] for name, _, _ in checks}
    with tempfile.TemporaryDirectory() as folder:
        for done, path in enumerate(files):
            report.progress(done, len(files), os.path.basename(path))
            case = Rewritten(path, folder)
            for name, function, moved in checks:
                failures[name] += [f"{path}: {problem}" for problem in function(case, moved)]
    report.check("files", len(extensions) > 100 and len(files) > len(extensions), "over 100 modules, and their libraries",
                 f"{len(extensions)} modules, {len(files) - len(extensions)} libraries")
    for name, problems in failures.items():
        report.check(name, not problems, "no difference", f"{len(files)} files, {len(problems)} differences",
                     "\n".join(problems[:20]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
