#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`make release` twice, in folders, umasks, languages and time zones that differ: the same bytes, and files that say what they are.

The second release is made in a clone, so that nothing of this tree's can be in it."""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

from report import Report
import harness

PACKAGES = ["gorgon-tools", "libgorgon-dev", "libgorgon0", "libjitreg-dev", "libjitreg0", "python3-gorgon"]
SURROUNDINGS = {"first": (0o022, {"TZ": "UTC", "LANG": "C", "CFLAGS": "-O0"}), "second": (0o077, {"TZ": "Asia/Tokyo", "LANG": "C.UTF-8"})}
REQUIRED = {"SPDXID", "name", "versionInfo", "downloadLocation", "licenseDeclared", "copyrightText"}


def make(source, above, name):
    """Returns the folder of a release's files."""
    mask, variables = SURROUNDINGS[name]
    folder = os.path.join(above, name)
    os.makedirs(f"{folder}/tmp")
    env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN", "PYTHONPATH")}
    result = subprocess.run([sys.executable, "-B", os.path.join(source, "tools", "release.py"), f"{folder}/release"], umask=mask, text=True,
                            capture_output=True, check=False, env=dict(env, TMPDIR=f"{folder}/tmp", **variables))
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)
    return f"{folder}/release"


def machine_of(wheel):
    return re.search(r"manylinux_\d+_\d+_(\w+)\.whl", wheel)[1]


def read_files(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def check_names(report, names):
    for what, pattern, count in (("tarball", r"gorgon-[\w.-]+\.tar\.gz", 1), ("wheel for x86-64", r"gorgon_.*manylinux.*_x86_64\.whl", 1),
                                 ("wheel for aarch64", r"gorgon_.*manylinux.*_aarch64\.whl", 1), ("parts", r"gorgon-[\w.-]+\.spdx\.json", 1),
                                 ("notes", r"gorgon-[\w.-]+\.md", 1), ("checksums", "SHA256SUMS", 1),
                                 ("Debian's packages", rf"({'|'.join(PACKAGES)})_.*_\w+\.deb", len(PACKAGES))):
        found = [name for name in names if re.fullmatch(pattern, name)]
        report.check(what, len(found) == count, f"{count} files", ", ".join(found) or "none")


def check_parts(report, folder):
    with open(glob.glob(f"{folder}/*.spdx.json")[0]) as file:
        document = json.load(file)
    packages = {each["SPDXID"]: each for each in document["packages"]}
    lacking = [name for name, each in packages.items() if not REQUIRED <= set(each)]
    ends = {each[side] for each in document["relationships"] for side in ("spdxElementId", "relatedSpdxElement")}
    unknown = ends - set(packages) - {document["SPDXID"]}
    report.check("parts: members and relations", not lacking and not unknown, "each package whole, each relation's ends known",
                 f"{len(lacking)} packages lack something, {len(unknown)} ends are unknown", f"{lacking} {unknown}")
    named = {each["packageFileName"]: each["checksums"][0]["checksumValue"] for each in packages.values() if "packageFileName" in each}
    there = {name: value for name, value in read_files(folder).items() if name.endswith((".gz", ".whl", ".deb"))}
    report.check("parts: files", named == there, f"{len(there)} with their checksums", f"{len(named)}, {'as they are' if named == there else 'others'}")
    for path in glob.glob(f"{folder}/*.whl"):
        identifier = next(name for name, each in packages.items() if each.get("packageFileName") == os.path.basename(path))
        parts = [packages[each["relatedSpdxElement"]]["name"] for each in document["relationships"]
                 if each["spdxElementId"] == identifier and each["relationshipType"] == "CONTAINS"]
        with zipfile.ZipFile(path) as archive:
            libraries = [name for name in archive.namelist() if ".libs/" in name and ".so" in name]
        report.check(f"parts of the wheel for {machine_of(path)}", len(parts) == len(libraries) and "elfutils" in parts,
                     "a row for each library that it takes along", ", ".join(parts))


def check_machines(report, folder):
    """Each library of a wheel is for the wheel's machine; wheels want the same C library."""
    oldest = {re.search(r"manylinux_(\d+_\d+)", path)[1] for path in glob.glob(f"{folder}/*.whl")}
    report.check("the oldest C library that wheels are for", len(oldest) == 1, "one", ", ".join(sorted(oldest)))
    for path in glob.glob(f"{folder}/*.whl"):
        machine = {"x86_64": 62, "aarch64": 183}[machine_of(path)]
        with zipfile.ZipFile(path) as archive:
            machines = {name: int.from_bytes(archive.read(name)[18:20], "little") for name in archive.namelist()
                        if archive.read(name)[:4] == b"\x7fELF"}
        report.check(f"libraries of the wheel for {machine_of(path)}", len(machines) >= 4 and set(machines.values()) == {machine},
                     f"e_machine {machine}", f"{len(machines)} files, e_machine {', '.join(map(str, set(machines.values())))}")


def main():
    report = Report("Two releases of a commit")
    with tempfile.TemporaryDirectory() as above:
        subprocess.run(["git", "clone", "-q", harness.ROOT, f"{above}/clone"], check=True)
        folders = []
        for number, name in enumerate(SURROUNDINGS):
            report.progress(number, len(SURROUNDINGS), name)
            folders.append(make(f"{above}/clone" if number else harness.ROOT, above, name))
        first, second = map(read_files, folders)
        check_names(report, first)
        differing = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        report.check("the same bytes", not differing, f"{len(first)} files", f"{', '.join(differing)} differ" if differing else f"{len(first)} files")
        result = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=folders[0], capture_output=True, text=True, check=False)
        report.check("sha256sum -c SHA256SUMS", result.returncode == 0, "status 0", f"status {result.returncode}", result.stderr)
        check_parts(report, folders[0])
        check_machines(report, folders[0])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
