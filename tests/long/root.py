# SPDX-License-Identifier: MIT
"""Debian systems in folders of their own, so that hundreds of packages leave the machine as it is.

A root lies in build/roots/NAME, is made by debootstrap (as root) and kept: a second run finds it.
Commands in it run in a mount and a process namespace of their own, so that its /proc and /dev and
what they have started (gpg-agent, a bus) go with them, after a timeout too."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import ROOT as SOURCES  # noqa: E402

ROOTS = os.path.join(SOURCES, "build", "roots")
INSIDE = "/gorgon"  # where the sources are in a root
# How this machine reaches others, and whom it trusts.
NETWORK = ["/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt"]
# The namespaces' first program: what a running system has besides files, then the command, which is
# not process 1: that one ignores signals. The root becomes that of the namespace: in a chroot nobody
# may have a user namespace.
ENTER = """set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
for part in sys dev; do mount --rbind /$part "$0/$part"; done
[ -z "$WITH" ] || { mkdir -p "$0$WITH"; mount --bind "$WITH" "$0$WITH"; }
mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
cd "$0"
pivot_root . .
umount -l .
cd /
set +e
"$@"
exit $?
"""


class Unavailable(Exception):
    """This machine cannot make or enter roots; the text says why."""


def mirror():
    """Where this machine gets Debian from; debootstrap's own choice otherwise."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(SITE)", "Created-By: Packages"],
                             capture_output=True, text=True, check=False).stdout.splitlines()
    sites = [line.split()[1] for line in targets if line.startswith("Debian ") and "security" not in line]
    return sites[:1]


class Root:
    def __init__(self, name, suite, machine=None, path=None):
        """@machine: Debian's name of another machine, whose programs binfmt_misc runs. @path: a root that is there."""
        if os.geteuid():
            raise Unavailable("a root needs the rights of root")
        for tool in ("debootstrap", "unshare", "pivot_root"):
            if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
                raise Unavailable(f"{tool} is not installed")
        self.suite, self.machine, self.path = suite, machine, path or os.path.join(ROOTS, name)
        if not os.path.exists(self.path):
            self._make()

    def _make(self):
        print(f"roots: making {self.path} (Debian {self.suite})", flush=True)
        unfinished = self.path + ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        os.makedirs(unfinished)
        options = ["--variant=minbase", "--include=ca-certificates", *([f"--arch={self.machine}"] if self.machine else [])]
        result = subprocess.run(["/usr/sbin/debootstrap", *options, self.suite, unfinished, *mirror()],
                                capture_output=True, text=True, check=False)
        if result.returncode:
            raise Unavailable(f"debootstrap {self.suite}: {(result.stdout + result.stderr).strip().splitlines()[-1]}")
        # A mirror that is out of date for weeks serves tests as well.
        with open(os.path.join(unfinished, "etc/apt/apt.conf.d/90valid"), "w") as file:
            file.write('Acquire::Check-Valid-Until "false";\n')
        os.rename(unfinished, self.path)

    def run(self, *command, env=None, timeout=None, cwd="/", folder="", **kwargs):
        """Run a command in the root; returns the CompletedProcess, with text output unless @kwargs say otherwise.
        @folder: one of this machine that has its name in the root, too."""
        for path in NETWORK:
            if os.path.exists(path):
                shutil.copyfile(path, self.path + path)
        environment = {"WITH": folder, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive", **(env or {})}
        kwargs = {"capture_output": True, "text": True, "errors": "replace", "stdin": subprocess.DEVNULL, **kwargs}
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, self.path, "env", "-C", cwd]
        return subprocess.run([*enter, *map(str, command)], env=environment, timeout=timeout, check=False, **kwargs)

    def installed(self):
        """{package: version}."""
        lines = self.run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n").stdout.splitlines()
        return {words[0]: words[1] for words in map(str.split, lines) if words[2:] == ["ii"]}

    def install(self, packages):
        missing = sorted(set(packages) - self.installed().keys())
        if not missing:
            return
        print(f"roots: installing {len(missing)} packages in {self.path}", flush=True)
        self.run("apt-get", "update", "-qq")
        # No time is spent on writing to disk: a root that is lost with the power is made again.
        result = self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o",
                          "Dpkg::Options::=--force-unsafe-io", *missing)
        self.run("apt-get", "clean")
        if result.returncode:
            raise Unavailable(f"apt-get install in {self.path}: {result.stderr.strip()[-500:]}")

    def unpack(self, name, machine, choose):
        """A folder of that name, below /var/cache in the root, with packages of Debian's backports. This machine's apt gets them for a
        machine, and nothing is installed. @choose: calls apt and returns the packages' names."""
        folder = f"{self.path}/var/cache/{name}"
        if os.path.exists(f"{folder}/unpacked"):
            return folder
        for part in ("state/lists/partial", "cache/archives/partial", "packages"):
            os.makedirs(f"{folder}/{part}", exist_ok=True)
        with open(f"{self.path}/etc/apt/sources.list") as file:
            line = next(line for line in file if line.startswith("deb "))
        with open(f"{folder}/sources.list", "w") as file:
            file.write(line + line.replace(self.suite, f"{self.suite}-backports"))
        open(f"{folder}/status", "w").close()
        settings = {"APT::Architecture": machine, "APT::Architectures::": machine, "APT::Sandbox::User": "root",
                    "Acquire::Check-Valid-Until": "false", "Dir::Etc::sourcelist": f"{folder}/sources.list", "Dir::Etc::sourceparts": "/dev/null",
                    "Dir::Etc::trustedparts": f"{self.path}/etc/apt/trusted.gpg.d", "Dir::State": f"{folder}/state",
                    "Dir::State::status": f"{folder}/status", "Dir::Cache": f"{folder}/cache"}
        options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

        def apt(*words):
            result = subprocess.run([words[0], *options, *words[1:]], cwd=f"{folder}/packages", capture_output=True, text=True, check=False)
            if result.returncode:
                raise Unavailable(f"{' '.join(words)}: {result.stderr.strip()[-500:]}")
            return result.stdout

        apt("apt-get", "update", "-qq")
        apt("apt-get", "download", "-qq", *choose(apt))
        for package in os.listdir(f"{folder}/packages"):
            subprocess.run(["dpkg-deb", "-x", f"{folder}/packages/{package}", folder], check=True)
        open(f"{folder}/unpacked", "w").close()
        return folder

    def _remove_others(self, names):
        """Sources that an earlier run has copied, and that have another name now."""
        inside = self.path.encode() + INSIDE.encode()
        for folder, folders, files in os.walk(inside):
            if folder == inside:
                folders[:] = [each for each in folders if each != b"build"]
            for name in files:
                path = os.path.join(folder, name)
                if os.path.relpath(path, inside) not in names:
                    os.remove(path)

    def copy(self):
        """Copy the sources, as they are; again only what has changed."""
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCES,
                               capture_output=True, check=True).stdout.split(b"\0")
        self._remove_others(set(names))
        for name in filter(None, names):
            source, copy = os.path.join(SOURCES.encode(), name), os.path.join(self.path.encode() + INSIDE.encode(), name)
            if not os.path.exists(source):
                continue  # deleted, not yet committed
            if not os.path.exists(copy) or os.path.getmtime(source) != os.path.getmtime(copy):
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copy2(source, copy)

    def build(self):
        """Copy the sources, set up what they need and build."""
        self.copy()
        for command in (["tools/setup.sh", "yes", "check"], ["make", "-j", str(os.cpu_count())]):
            result = self.run(*command, cwd=INSIDE)
            if result.returncode:
                raise Unavailable(f"{' '.join(command)} in {self.path}: {(result.stdout + result.stderr)[-1500:]}")
