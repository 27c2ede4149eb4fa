# SPDX-License-Identifier: MIT
"""`make release`: all files of a release, out of the last commit, into a folder.

usage: release.py FOLDER

These are the tarball, a wheel for each machine, Debian's packages for this machine, what they consist of (SPDX 2.3, JSON),
the notes of CHANGELOG.md, and the checksums of all of them. Two runs for one commit with the same packages of Debian make
the same bytes, whatever the folder, the time, the user's umask, language and time zone are: files are built in a fresh tree
whose name the compiler leaves out, and carry the commit's time."""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The machines that wheels are for, under the names that gcc and Debian have for them.
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
# What a build for another machine needs of it.
HEADERS = ["libc6-dev", "libdw-dev", "libelf-dev", "libjson-c-dev", "libpython3-dev", "zlib1g-dev"]
# The licences of libraries that wheels take along, by Debian's source package.
LICENCES = {"elfutils": "GPL-2.0-or-later OR LGPL-3.0-or-later", "zlib": "Zlib",
            "libzstd": "BSD-3-Clause OR GPL-2.0-only", "xz-utils": "0BSD", "bzip2": "bzip2-1.0.6"}
NONE = "NOASSERTION"  # as SPDX calls what nobody has said


class Failed(Exception):
    """The text is one line: what could not be made, and why."""


def run(*command, log=None, **kwargs):
    """Returns what the command printed. @log: a file that gets everything instead."""
    with open(log or os.devnull, "a") as file:
        output = file if log else subprocess.PIPE
        result = subprocess.run(command, text=True, check=False, stdout=output,
                                stderr=subprocess.STDOUT if log else subprocess.PIPE, **kwargs)
    if result.returncode:
        told = result.stderr
        if log:
            with open(log, errors="replace") as file:
                told = file.read()
        raise Failed(f"{' '.join(command[:2])}: status {result.returncode}\n{told[-3000:]}".rstrip())
    return result.stdout


def git(*words):
    return run("git", "-C", ROOT, *words).strip()


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Release:
    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        with open(f"{ROOT}/Makefile") as file:
            self.version = re.search(r"^VERSION := (\S+)", file.read(), re.M)[1]
        self.name = f"gorgon-{self.version}"
        self.tree, self.log = f"{work}/{self.name}", f"{work}/log"
        self.time = git("log", "-1", "--format=%ct", "HEAD")
        inherited = {name: value for name, value in os.environ.items()
                     if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", "CC", "CXX", "CPPFLAGS", "LDFLAGS")}
        unnamed = f"-ffile-prefix-map={work}=/usr/src"
        self.env = dict(inherited, SOURCE_DATE_EPOCH=self.time, LC_ALL="C.UTF-8", TZ="UTC", PYTHONHASHSEED="0",
                        CFLAGS=f"-O2 -g {unnamed}", ASFLAGS=f"-g {unnamed}")

    def begin(self, what):
        print(f"release: {what}", flush=True)
        # A build does not see what another one has left.
        shutil.rmtree(self.tree, ignore_errors=True)
        # Files have the modes of this umask, for root, too.
        run("tar", "--no-same-permissions", "-xzf", f"{self.folder}/{self.name}.tar.gz", "-C", self.work)

    def make(self, *words, env=None):
        run("make", "-C", self.tree, f"-j{os.cpu_count()}", *words, log=self.log, env=env or self.env)

    def make_tarball(self):
        print("release: the tarball", flush=True)
        run("make", "-C", ROOT, "dist", f"BUILD={self.folder}", env=self.env)
        os.remove(f"{self.folder}/{self.name}.tar.gz.sha256")

    def make_wheel(self, machine):
        self.begin(f"the wheel for {machine}")
        env, words = dict(self.env), ["wheel", "BUILD=build"]
        if machine != os.uname().machine:
            # auditwheel is of this machine, but for the program that it strips with.
            self.make(f"{self.tree}/build/wheel/tools/.done", "BUILD=build")
            os.makedirs(f"{self.work}/{machine}", exist_ok=True)
            os.symlink(shutil.which(f"{machine}-linux-gnu-strip"), f"{self.work}/{machine}/strip")
            system = self.unpack_system(machine)
            compiler = f"{machine}-linux-gnu-gcc --sysroot={system}"
            libraries = [f"{system}{above}/lib/{machine}-linux-gnu" for above in ("/usr", "")]
            env.update(PATH=f"{self.work}/{machine}:{self.env['PATH']}", CC=compiler, LDSHARED=f"{compiler} -shared", _PYTHON_HOST_PLATFORM=f"linux-{machine}",
                       PKG_CONFIG_LIBDIR=f"{libraries[0]}/pkgconfig:{system}/usr/share/pkgconfig",
                       PKG_CONFIG_SYSROOT_DIR=system)
            words += ["WHEEL_TAG=auto", f"WHEEL_LIBRARIES={':'.join(libraries)}"]
        self.make(*words, env=env)
        if machine != os.uname().machine:
            self.name_system(machine)
        for path in glob.glob(f"{self.tree}/build/wheel/*.whl"):
            shutil.copy(path, self.folder)

    def name_system(self, machine):
        """Name the C library of this machine's wheel in that of another machine. auditwheel names none of those on another machine but
        by itself, and that may be older than any that was tried."""
        (native,) = glob.glob(f"{self.folder}/*_{os.uname().machine}.whl")
        (other,) = glob.glob(f"{self.tree}/build/wheel/*.whl")
        tag = re.search(r"manylinux_\d+_\d+_", native)[0] + machine
        if tag not in os.path.basename(other):
            run(f"{self.tree}/build/wheel/tools/bin/python", "-m", "wheel", "tags", "--remove", "--platform-tag", tag, other, log=self.log, env=self.env)

    def unpack_system(self, machine):
        """The other machine's headers and libraries, which apt fetches without installing anything."""
        system, state = f"{self.work}/system", f"{self.work}/apt"
        if os.path.exists(system):
            return system
        for name in "lists/partial", "cache/archives/partial":
            os.makedirs(f"{state}/{name}")
        with open(f"{state}/status", "w"):
            pass
        settings = {"APT::Architecture": MACHINES[machine], "APT::Architectures::": MACHINES[machine],
                    "APT::Install-Recommends": "false", "APT::Sandbox::User": "root", "Dir::State": state,
                    "Dir::State::Lists": f"{state}/lists", "Dir::State::Status": f"{state}/status",
                    "Dir::Cache": f"{state}/cache", "Acquire::Languages": "none"}
        apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
        run(*apt, "update", log=self.log)
        run(*apt, "install", "--download-only", "-y", *HEADERS, log=self.log)
        os.makedirs(system)
        for package in sorted(glob.glob(f"{state}/cache/archives/*.deb")):
            run("dpkg-deb", "-x", package, system)
        return system

    def find_source(self, machine, library):
        """(source package, its version) of Debian, from which a library comes."""
        if machine == os.uname().machine:
            package = run("dpkg-query", "-S", f"*/{library}").split(":")[0]
            return run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n", package).splitlines()[0].split()
        for path in sorted(glob.glob(f"{self.work}/apt/cache/archives/*.deb")):
            if f"/{library}\n" in run("dpkg-deb", "-c", path):
                name, version, source = (run("dpkg-deb", "-f", path, field).strip() for field in ("Package", "Version", "Source"))
                other = re.fullmatch(r"(\S+)(?: \((.*)\))?", source or name)
                return other[1], other[2] or version
        raise Failed(f"{library}: in no package of {MACHINES[machine]} that was fetched")

    def make_debian(self):
        self.begin("Debian's packages")
        run("dpkg-buildpackage", "-b", "-us", "-uc", f"-j{os.cpu_count()}", cwd=self.tree, log=self.log,
            env={name: value for name, value in self.env.items() if name != "CFLAGS"})
        for path in glob.glob(f"{self.work}/*.deb"):
            shutil.move(path, self.folder)

    def write_notes(self):
        """CHANGELOG.md's section of this version, with links that lead somewhere outside the tree, too."""
        changes = git("show", "HEAD:CHANGELOG.md")
        section = re.search(rf"^## {re.escape(self.version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
        if not section:
            raise Failed(f"CHANGELOG.md: no section of {self.version}, expected a line \"## {self.version}\"")
        text = re.sub(r"\[([^\]]*)\]\((?!\w+:)[^)]*\)", r"\1", section[1]).strip()
        with open(f"{self.folder}/{self.name}.md", "w") as file:
            file.write(f"# Gorgon {self.version}\n\n{text}\n\n## Files\n\n`sha256sum -c SHA256SUMS` looks whether the files "
                       f"beside this one are whole. Pages that are named here are in the tarball.\n")

    def write_parts(self):
        with open(f"{self.folder}/{self.name}.spdx.json", "w") as file:
            json.dump(Parts(self).document(), file, indent=1, sort_keys=True)
            file.write("\n")

    def write_checksums(self):
        names = sorted(name for name in os.listdir(self.folder) if name != "SHA256SUMS")
        lines = [f"{checksum(f'{self.folder}/{name}')}  {name}\n" for name in names]
        with open(f"{self.folder}/SHA256SUMS", "w") as file:
            file.writelines(lines)


class Parts:
    """What the files consist of, as SPDX 2.3 has it (https://spdx.github.io/spdx-spec/v2.3)."""

    def __init__(self, release):
        self.release, self.packages, self.relations = release, [], []

    def add(self, name, version, licence, **members):
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", f"{name}-{version}" if "packageFileName" not in members else name)
        if all(each["SPDXID"] != identifier for each in self.packages):
            self.packages.append({"SPDXID": identifier, "name": name, "versionInfo": version, "licenseConcluded": licence,
                                  "licenseDeclared": licence, "copyrightText": NONE, "downloadLocation": NONE,
                                  "filesAnalyzed": False, **members})
        return identifier

    def relate(self, one, kind, other):
        self.relations.append({"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})

    def add_file(self, path):
        sums = [{"algorithm": "SHA256", "checksumValue": checksum(path)}]
        return self.add(os.path.basename(path), self.release.version, "MIT", packageFileName=os.path.basename(path),
                        checksums=sums)

    def add_bundled(self, wheel, identifier):
        """The libraries that auditwheel has put into a wheel: libelf-0-1a2b3c4d.188.so is libelf-0.188.so of this Debian."""
        machine = next(machine for machine in MACHINES if wheel.endswith(f"_{machine}.whl"))
        with zipfile.ZipFile(wheel) as archive:
            names = [os.path.basename(name) for name in archive.namelist() if ".libs/" in name and ".so" in name]
        for name in sorted(names):
            source, version = self.release.find_source(machine, re.sub(r"-[0-9a-f]{8}(?=[.])", "", name))
            if source not in LICENCES:
                raise Failed(f"{os.path.basename(wheel)}: {name} is of {source}, whose licence is not known, expected one of "
                             f"{', '.join(LICENCES)}")
            url = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                    "referenceLocator": f"pkg:deb/debian/{source}@{version}?arch=source"}]
            self.relate(identifier, "CONTAINS", self.add(source, version, LICENCES[source], externalRefs=url))

    def document(self):
        release = self.release
        source = f"{release.folder}/{release.name}.tar.gz"
        tarball = self.add_file(source)
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", tarball)
        for path in sorted(glob.glob(f"{release.folder}/*.whl") + glob.glob(f"{release.folder}/*.deb")):
            identifier = self.add_file(path)
            self.relate("SPDXRef-DOCUMENT", "DESCRIBES", identifier)
            self.relate(identifier, "GENERATED_FROM", tarball)
            if path.endswith(".whl"):
                self.add_bundled(path, identifier)
        created = run("date", "-u", "-d", f"@{release.time}", "+%Y-%m-%dT%H:%M:%SZ").strip()
        return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": release.name,
                "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, checksum(source))}",
                "creationInfo": {"created": created, "creators": [f"Tool: {release.name}"]},
                "packages": self.packages, "relationships": self.relations}


def main(folder):
    os.umask(0o022)
    os.makedirs(folder, exist_ok=True)
    folder = os.path.abspath(folder)
    for name in os.listdir(folder):
        if re.match(r"gorgon|lib(gorgon|jitreg)|python3-gorgon|SHA256SUMS", name):
            os.remove(f"{folder}/{name}")
    if git("status", "--porcelain", "--untracked-files=no"):
        print("release: changes that are not committed are not in it", flush=True)
    with tempfile.TemporaryDirectory(prefix="gorgon-release-") as work:
        release = Release(folder, work)
        release.make_tarball()
        for machine in MACHINES:
            release.make_wheel(machine)
        release.make_debian()
        release.write_notes()
        release.write_parts()
        release.write_checksums()
    print(f"release: {folder}")
    for name in sorted(os.listdir(folder)):
        print(f"  {os.path.getsize(f'{folder}/{name}'):>9} {name}")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Failed as error:
        sys.exit(f"release: {error}")
