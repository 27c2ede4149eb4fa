#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C library's own tests of its dynamic linker end under our loader as they end under the system's.

Debian's source package of the installed C library has the tests, in its folder elf/. Each test is built twice from the
same objects: as a program, which the system's linker runs, and as a shared object, whose main() glibc_host.c calls in
a namespace of the loader. Make itself reads elf/Makefile, below a Makeconfig and Rules of ours, and its database tells which
module is linked with which. Tests of the C library's inside cannot be built that way.

Tests that are known to end otherwise stand in glibc_elf.txt, each with its reason."""

import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import threading

from report import Report
import harness
import sources

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(harness.BUILD, "glibc-elf")
SECONDS = 60
# What elf/Makefile expects of the files that it includes.
MAKECONFIG = r"""
build-shared := yes
run-built-tests := yes
objpfx := @/
elf-objpfx := @/
common-objpfx := @common/
.. := ../
pie-ccflag := -fpie
PIE-ccflag := -fPIE
pic-ccflag := -fPIC
no-stack-protector := -fno-stack-protector
LDFLAGS-rdynamic := -rdynamic
shared-thread-library := -lpthread
multi-arch := yes
have-z-execstack := yes
have-dt-relr := yes
have-mtls-dialect-gnu2 := yes
have-ifunc := yes
have-gcc-ifunc := yes
have-protected-data := yes
have-fpie := yes
"""
RULES = r"""
$(foreach v,tests tests-internal tests-pie xtests tests-static,$(info LIST $(v) $($(v))))
$(foreach v,$(filter LDFLAGS-% CFLAGS-% CPPFLAGS-% %-ENV %-ARGS,$(.VARIABLES)),$(info VAR $(v) $($(v))))
all: ; @:
"""
# Headers of the C library's tree that the installed ones do not have; the installed ones come first.
INSIDE = ["libc-diag.h", "array_length.h", "libc-symbols.h", "scratch_buffer.h", "libc-pointer-arith.h", "intprops.h",
          "allocate_once.h"]
PATHS = ["SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "BINDIR", "SBINDIR", "ROOTSBINDIR", "COMPLOCALEDIR",
         "SLIBDIR", "SYSCONFDIR"]
DEFINES = ["-DTIMEOUTFACTOR=1", '-DOBJDIR="./"', '-DPFX="./"', *(f'-D{name}_PATH="/nowhere"' for name in PATHS),
           '-Dinhibit_stack_protector=__attribute__((optimize("no-stack-protector")))',
           '-Dattribute_hidden=__attribute__((visibility("hidden")))']


class NotBuilt(Exception):
    """The text says why."""


def do(*command, cwd=None):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        said = [line for line in result.stderr.splitlines() if re.search("error|undefined|not allowed", line)]
        raise NotBuilt((said or result.stderr.splitlines() or ["no reason"])[0])
    return result.stdout


class Makefile:
    """What make makes of elf/Makefile."""

    def __init__(self, source):
        folder = os.path.join(OUT, "make")
        os.makedirs(os.path.join(folder, "elf"))
        for name, text in {"Makeconfig": MAKECONFIG, "Rules": RULES, "libof-iterator.mk": "", "o-iterator.mk": ""}.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        # The status does not count, because some rules need what only a whole build has.
        result = subprocess.run(["make", "-rR", "-pn", "-f", os.path.join(source, "elf", "Makefile"), "all"],
                                cwd=os.path.join(folder, "elf"), capture_output=True, text=True, errors="replace", check=False)
        self.lists = {m[1]: m[2].split() for m in re.finditer(r"^LIST (\S+) (.*)$", result.stdout, re.M)}
        self.variables = {m[1]: m[2].split() for m in re.finditer(r"^VAR (\S+) (.*)$", result.stdout, re.M)}
        self.needs = collections.defaultdict(list)
        for m in re.finditer(r"^@/([^ :%]+): (.*)$", result.stdout, re.M):
            self.needs[m[1]] += [word for word in m[2].split() if word != "|"]

    def tests(self):
        names = {name for key in ("tests", "tests-internal", "tests-pie", "xtests") for name in self.lists[key]}
        return sorted(names - set(self.lists["tests-static"]))

    def flags(self, kind, *names):
        return [flag for name in names for flag in self.variables.get(f"{kind}-{name}", []) if not flag.startswith("@")]

    def modules(self, target):
        return [need[2:] for need in self.needs[target] if need.startswith("@/") and need.endswith(".so") and need != "@/ld.so"]


class Builder:
    """Objects, modules and tests in OUT/elf."""

    def __init__(self, source):
        self.elf = os.path.join(source, "elf")
        self.folder = os.path.join(OUT, "elf")
        self.support = os.path.join(OUT, "libsupport.a")
        headers, inside = os.path.join(OUT, "headers"), os.path.join(OUT, "inside")
        for folder in (self.folder, headers, inside):
            os.makedirs(folder)
        os.symlink(os.path.join(source, "support"), os.path.join(headers, "support"))
        with open(os.path.join(inside, "config.h"), "w"):
            pass
        for name in INSIDE:
            os.symlink(os.path.join(source, "include", name), os.path.join(inside, name))
        self.cc = ["gcc", "-std=gnu11", "-O2", "-g", "-fPIC", "-w", "-D_GNU_SOURCE", "-U_FORTIFY_SOURCE", "-include", "limits.h", *DEFINES,
                   "-I", headers, "-I", os.path.join(source, "support"), "-I", self.elf, "-idirafter", inside,
                   "-idirafter", os.path.join(source, "sysdeps", "x86_64"), "-idirafter", os.path.join(source, "sysdeps", "generic")]
        self.makefile = Makefile(source)
        self.lock = threading.RLock()
        self.built = {}
        self.build_support(os.path.join(source, "support"))

    def build_support(self, folder):
        """The tests' library; what does not compile outside the C library's tree is needed by few tests."""
        def compile_one(path):
            name = os.path.join(OUT, "support", os.path.basename(path)[:-2] + ".o")
            try:
                do(*self.cc, "-c", "-o", name, path)
            except NotBuilt:
                return None
            return name
        os.makedirs(os.path.join(OUT, "support"))
        paths = [path for path in glob.glob(os.path.join(folder, "*.c"))
                 if not re.match(r"(tst-|test-|README|echo-|shell-|links)", os.path.basename(path))]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            do("ar", "rcs", self.support, *filter(None, pool.map(compile_one, paths)))

    def source(self, name):
        explicit = [need for need in self.makefile.needs[name + ".os"] if need.endswith(".c")]
        for path in [os.path.join(self.elf, need) for need in explicit] + [os.path.join(self.elf, name + end) for end in (".c", ".S")]:
            if os.path.exists(path):
                return path
        raise NotBuilt(f"elf/ has no source of {name}")

    def once(self, target, build):
        """build() at the first call; at each call the target's path, or the reason why there is none."""
        with self.lock:
            if target not in self.built:
                try:
                    if "/" in target:
                        raise NotBuilt(f"{target} lies in a folder of its own")
                    self.built[target] = None
                    build()
                except NotBuilt as error:
                    self.built[target] = error
            if self.built[target]:
                raise self.built[target]
            return os.path.join(self.folder, target)

    def object(self, name):
        source = self.source(name)
        flags = [flag for key in {os.path.basename(source), f"{name}.c", f"{name}.os"}
                 for kind in ("CFLAGS", "CPPFLAGS") for flag in self.makefile.flags(kind, key)]
        return self.once(f"{name}.o", lambda: do(*self.cc, *flags, "-c", "-o", os.path.join(self.folder, f"{name}.o"), source))

    def link(self, target, name, key, flags):
        needs = self.makefile.needs[key]
        do("gcc", *flags, "-o", os.path.join(self.folder, target), self.object(name),
           *(f"-Wl,--version-script={os.path.join(self.elf, os.path.basename(need))}" for need in needs if need.endswith(".map")),
           self.support, *map(self.module, self.makefile.modules(key)), f"-Wl,-rpath-link,{self.folder}",
           *(["-lpthread"] if "-lpthread" in needs else []), cwd=self.folder)

    def module(self, name):
        flags = self.makefile.flags("LDFLAGS", name)
        if not any("soname" in flag for flag in flags):
            flags = [*flags, f"-Wl,-soname,{name}"]
        return self.once(name, lambda: self.link(name, name[:-3], name, ["-shared", *flags]))

    def test(self, name):
        """Why this test cannot be built, or None."""
        try:
            needs = self.makefile.needs[name + ".out"]
            if any(need.endswith((".sh", ".py")) for need in needs):
                raise NotBuilt("a script runs it")
            for module in self.makefile.modules(name + ".out"):
                self.module(module)
            flags = self.makefile.flags("LDFLAGS", name)
            self.link(name, name, name, [*flags, "-lm"])
            self.link(f"{name}.private.so", name, name, ["-shared", *(flag for flag in flags if flag not in ("-pie", "-rdynamic")), "-lm"])
        except NotBuilt as error:
            return str(error)
        return None

    def environment(self, name):
        settings = (word.split("=", 1) for word in self.makefile.variables.get(f"{name}-ENV", []) if "=" in word)
        return {key: value.replace("@/", self.folder + "/") for key, value in settings if key != "LD_LIBRARY_PATH"}

    def run(self, name, *command):
        """(status, output)"""
        env = dict(os.environ, LD_LIBRARY_PATH=f"{self.folder}:.", **self.environment(name))
        try:
            result = subprocess.run([*command, *self.makefile.variables.get(f"{name}-ARGS", [])], cwd=self.folder, env=env, timeout=SECONDS,
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
        except subprocess.TimeoutExpired:
            return f"{SECONDS} s", ""
        return result.returncode, result.stdout + result.stderr


def known():
    with open(os.path.join(HERE, "glibc_elf.txt")) as file:
        return dict(line.rstrip("\n").split(": ", 1) for line in file if line.strip() and not line.startswith("#"))


def build_host():
    host = os.path.join(OUT, "glibc_host")
    do("gcc", "-O2", "-g", "-I", os.path.join(harness.ROOT, "loader"), "-o", host, os.path.join(HERE, "glibc_host.c"),
       "-L", harness.BUILD, "-lgorgon", "-ljitreg", f"-Wl,-rpath,{harness.BUILD}")
    return host


def main():
    report = Report("The C library's tests of its dynamic linker")
    try:
        source = sources.debian("glibc", "libc6", "*")
    except sources.Unavailable as error:
        report.skip("elf/", str(error))
        return report.finish()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    host = build_host()
    builder = Builder(source)
    names = builder.makefile.tests()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = {name: reason for name, reason in zip(names, pool.map(builder.test, names)) if reason}
    built = [name for name in names if name not in failures]
    results, outputs = {}, {}
    for number, name in enumerate(built):
        report.progress(number, len(built), name)
        system, _ = builder.run(name, os.path.join(builder.folder, name))
        ours, outputs[name] = builder.run(name, host, os.path.join(builder.folder, f"{name}.private.so"))
        results[name] = (system, ours)
    with open(os.path.join(OUT, "results.json"), "w") as file:
        json.dump({"failures": failures, "results": results}, file, indent=1)
    reasons = known()
    passing = {name for name, (system, _) in results.items() if system == 0}
    differ = {name for name in passing if results[name][1] != 0}
    report.check("tests that can be built outside the C library", len(built) >= 130, "at least 130", f"{len(built)} of {len(names)}")
    report.check("tests that pass under the system's linker", len(passing) >= 110, "at least 110", len(passing))
    report.check("of these pass under ours", True, "(their number)", len(passing - differ))
    report.check("end otherwise, with a reason in glibc_elf.txt", True, "(their number)", len(differ & reasons.keys()))
    report.check("end otherwise, without one", differ <= reasons.keys(), "0", len(differ - reasons.keys()),
                 "\n".join(f"{name}: {results[name][1]}: {outputs[name][-300:]}" for name in sorted(differ - reasons.keys())))
    report.check("are said to differ and do not", not (reasons.keys() - differ) & passing, "0",
                 " ".join(sorted((reasons.keys() - differ) & passing)) or "0")
    crashes = sorted(name for name, (system, ours) in results.items() if isinstance(ours, int) and ours < 0 and system == 1)
    report.check("crash under ours where they fail under the system's", not crashes, "0", " ".join(crashes) or "0")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
