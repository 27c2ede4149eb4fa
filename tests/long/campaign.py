#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damages by zzuf, a mutator that knows nothing of ELF and that no other test uses, before all that reads files.

Files of several kinds are damaged, each many times: anywhere, or in one section or table of headers, where a damage matters. The
loader (without running anything), libjitreg, the rewriter of the strategy `copy`, gorgon-symdump and the reader of unwind data
read them with the address and undefined behaviour sanitizers (the fuzz targets take files). Libraries are also opened under the
system's linker and ours.

COUNT=... in the environment is the number of damages, SEED=... repeats those of an earlier run. A damage with which something is
wrong stays in build/campaign."""

import collections
import concurrent.futures
import glob
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time

from report import Report
import harness
import readers

COUNT = int(os.environ.get("COUNT", "50000"))
SEED = int(os.environ.get("SEED", str(int(time.time()))))
BATCH = 250
FOLDER = os.path.join(harness.BUILD, "campaign")
LIBRARY = ["load", "registrar", "rewrite", "library"]
LOAD, NOBITS = 1, 8  # types of a segment and of a section
# Of libraries that the linker of the name alone accepts: what the other says, and why they differ. Ours checks each entry of a
# table before it uses any, as it looks up whatever a program may ask for later; the system's looks at what it comes across.
EXPLAINED = {
    "ours": [
        (r"version `.*' not found", "the system's linker goes on behind the last needed version, whatever their count (vn_cnt) says"),
    ],
    "the system's": [
        (r"segment \d+: p_align 0x\w+ is no power of two", "it wants a multiple of a page, the gABI a power of two"),
        (r"segment \d+: ends at .*, the file at", "it maps what is behind the file's end: who touches that gets SIGBUS"),
        (r"segment \d+: shares a page with the one before or is out of order", "it maps one over the other; the gABI wants order"),
        (r"PT_DYNAMIC: .* is in no segment", "it stops at DT_NULL and does not look at the size"),
        (r"PT_TLS: initialisation image at .* is in no segment", "it copies the image when a thread first uses it"),
        (r"PT_GNU_RELRO: .* is in no segment", "it protects whatever lies there"),
        (r"DT_STRTAB: .* is in no segment or not terminated", "it does not look at the size of the table of names (DT_STRSZ)"),
        (r"dynamic entry \d+: name at .* is outside of DT_STRTAB", "it reads what is behind the table, or needs no such name"),
        (r"DT_SYMENT is \d+, expected", "it does not look at the size of a symbol"),
        (r"symbol \d+: name at .* is outside of DT_STRTAB", "it reads names of symbols that are asked for"),
        (r"symbol \d+: version index \d+ is not defined", "it reads versions of symbols that are asked for"),
        (r"symbol \d+: thread-local, at .* of a block of", "it gives out an address behind the block"),
        (r"DT_GNU_HASH: .* (leave the segment|shift \d+)", "it reads the words for names that are asked for"),
        (r"DT_GNU_HASH: (bucket|chain) .* (before \d+|leaves the segment)", "it follows the chains of names that are asked for"),
        (r"DT_VER(DEF|NEED): .* is in no segment or of another format", "it follows the offsets to their end, whatever the count says"),
        (r"DT_[A-Z]+ entry \d+: symbol \d+ of \d+", "it reads what is behind the table, or none: some relocations need no symbol"),
        (r"DT_[A-Z]+: size 0x\w+ is no multiple of \d+", "it takes what is left over for a whole entry"),
        (r"DT_(INIT|FINI)(_ARRAY)?: .* is in no (executable )?segment", "it calls what lies there at the library's end, which did not come"),
        (r"undefined symbol: .*, version .* of ", "it takes a definition without a version, ours asks the process for that version"),
    ],
}


class Kind:
    """Files of one kind, and the fuzz targets that read them."""

    def __init__(self, name, targets, paths):
        self.name, self.targets, self.paths = name, targets, paths


def frames_of(path):
    """The .eh_frame of a library, as a file of its own."""
    made = os.path.join(FOLDER, "eh_frame")
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.eh_frame", path, made], check=True)
    return made


def core_of(program):
    """A core of a running program, with headers and notes but no memory, as the kernel makes it when told so."""
    made = os.path.join(FOLDER, "core")
    with subprocess.Popen([program, "60"]) as process:
        time.sleep(0.2)
        with open(f"/proc/{process.pid}/coredump_filter", "w") as file:
            file.write("0x10")
        harness.run("gdb", "-nx", "-batch", "-p", process.pid, "-ex", f"generate-core-file {made}")
        process.kill()
    return made


def kinds():
    def module(name):
        return os.path.join(harness.MODULES, f"{name}.so")

    debug = sorted((path for path in glob.glob("/usr/lib/debug/.build-id/*/*.debug") if 8000 < os.path.getsize(path) < 100000),
                   key=os.path.getsize)
    cores = [path for path in glob.glob(os.path.join(harness.ROOT, "tests/fuzz/corpus/core/*")) if os.path.getsize(path)]
    libraries = {"C": "libbasic", "hash table of System V": "libbasic_sysv", "RELR": "libbasic_relr", "stripped": "libbasic_strip",
                 "relocations of all types": "libreloc", "C++ exceptions": "libcatch", "much .eh_frame": "libthrow_static",
                 "GNU_UNIQUE": "libunique_a", "TLS": "libtls", "TLS descriptors": "libtls_desc", "versions it has": "libversion",
                 "versions it needs": "libversion_user"}
    numpy = glob.glob(f"/usr/lib/python3/dist-packages/numpy/{harness.NUMPY_CORE}/_umath_tests*{harness.EXT_SUFFIX}")
    return [*(Kind(name, LIBRARY, [module(file)]) for name, file in libraries.items()),
            Kind("numpy's extension", LIBRARY, numpy),
            Kind("Debian's debug files", ["registrar", "library"], debug[::len(debug) // 8 or 1]),
            Kind("cores", ["core"], [core_of("/usr/bin/sleep"), *cores]),
            Kind("unwind data alone", ["frames"], [frames_of(module("libthrow_static"))])]


def places(data):
    """Ranges of a file in which a damage is likely to be read: [(first, end)]."""
    whole = [(0, len(data))]
    if not data.startswith(b"\x7fELF") or len(data) < 64:
        return whole
    program, sections = struct.unpack_from("<QQ", data, 32)
    program_count, _, section_count = struct.unpack_from("<HHH", data, 56)
    found = [(0, 64), (program, program + 56 * program_count), (sections, sections + 64 * section_count)]
    for at in range(program, program + 56 * program_count, 56):
        if at + 56 <= len(data):
            kind, _, first, _, _, size = struct.unpack_from("<IIQQQQ", data, at)
            if kind != LOAD:
                found.append((first, first + size))
    for at in range(sections, sections + 64 * section_count, 64):
        if at + 64 <= len(data):
            kind, flags, _, first, size = struct.unpack_from("<IQQQQ", data, at + 4)
            if kind != NOBITS and not flags & 4:  # not code, which nothing here reads
                found.append((first, first + size))
    return whole + [(first, end) for first, end in found if first < end <= len(data)]


def damaged(data, ranges, choice):
    """The file with 1 to about 32 bits changed in one of the ranges, by zzuf."""
    while True:
        first, end = choice.choice(ranges)
        ratio = 2 ** (5 * choice.random()) / (8 * (end - first))
        result = subprocess.run(["zzuf", "-s", str(choice.getrandbits(31)), "-b", f"{first}-{end - 1}", "-r", f"{min(ratio, 1):.9f}"],
                                input=data, stdout=subprocess.PIPE, check=True)
        if result.stdout != data:
            return result.stdout


def try_batch(kind, number):
    """Returns the line of counts of both linkers, if they look, [(path, who, why)] of what one alone accepts for a reason that is
    not known, and [(who, path, text)] of what is wrong."""
    choice = random.Random(f"{SEED} {kind.name} {number}")
    originals = []
    for path in kind.paths:
        with open(path, "rb") as file:
            data = file.read()
        originals.append((data, places(data)))
    paths = []
    for i in range(BATCH):
        paths.append(os.path.join(FOLDER, f"{re.sub('[^A-Za-z]+', '-', kind.name)}-{SEED}-{number}-{i}"))
        with open(paths[-1], "wb") as file:
            file.write(damaged(*originals[i % len(originals)], choice))
    found = [(target, *what) for target in kind.targets for what in readers.read(target, paths, FOLDER)]
    counts, alone = None, []
    if "load" in kind.targets:
        counts, crashed, alone = readers.compare(paths, FOLDER)
        found += [("differ", path, "the system's linker refuses it, ours crashes") for path in crashed]
    alone = [(path, who, why) for path, who, why in alone if not any(re.search(pattern, why) for pattern, _ in EXPLAINED[who])]
    for path in set(paths) - {path for _, path, _ in found} - {path for path, _, _ in alone}:
        os.unlink(path)
    return counts, alone, found


def add_counts(lines):
    """One line with the sums of the numbers."""
    sums = iter([sum(column) for column in zip(*([int(n) for n in re.findall(r"\d+", line)] for line in lines))])
    return re.sub(r"\d+", lambda _: str(next(sums)), lines[0])


def main():
    report = Report("Damages by zzuf")
    if not shutil.which("zzuf"):
        report.skip("damages", "zzuf is not installed")
        return report.finish()
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    os.environ["LD_LIBRARY_PATH"] = f"{harness.MODULES}:{harness.MODULES}/dep"  # $ORIGIN is not where the files were
    all_kinds, lines, unexplained, found = kinds(), [], [], collections.defaultdict(list)
    batches = math.ceil(COUNT / len(all_kinds) / BATCH)
    tasks = [(kind, number) for number in range(batches) for kind in all_kinds]
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        for done, ((kind, _), (counts, alone, wrong)) in enumerate(zip(tasks, pool.map(lambda task: try_batch(*task), tasks)), 1):
            report.progress(done * BATCH, len(tasks) * BATCH, kind.name)
            found[kind] += wrong
            lines += [counts] if counts else []
            unexplained += alone
    for kind in all_kinds:
        report.check(f"{kind.name}: {batches * BATCH} damages, read by {', '.join(kind.targets)}", not found[kind], "0 reports",
                     f"{len(found[kind])} reports", "\n".join(f"{who}: {path}\n{text}" for who, path, text in found[kind]))
    crashed = [path for wrong in found.values() for who, path, _ in wrong if who == "differ"]
    report.check("libraries under both linkers", not crashed, "no crash where the system's linker refuses", add_counts(lines))
    report.check("libraries that one linker alone accepts", not unexplained, "each for a reason that is known",
                 f"{len(unexplained)} for another", "\n".join(": ".join(what) for what in unexplained))
    report.check("damages in all", True, f"at least {COUNT}", f"{len(tasks) * BATCH}, seed {SEED}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
