# SPDX-License-Identifier: MIT
"""The package as a distribution: its source archive builds, says what it lacks, and knows its version and types."""

import ast
import glob
import os
import re
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from harness import PYTHON3, ROOT, package_source, run, thorough  # noqa: E402
from test_executor import Package  # noqa: E402

SETUP = os.path.join(ROOT, "python", "setup.py")


class Distribution(Package):
    @thorough
    def test_source_archive_builds_elsewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"GORGON_BUILD": f"{folder}/build"}
            with package_source() as package:
                run(PYTHON3, SETUP, "-q", "sdist", "-d", folder, cwd=package, env=env).check_returncode()
            with tarfile.open(glob.glob(f"{folder}/*.tar.gz")[0]) as archive:
                archive.extractall(folder)
            source = glob.glob(f"{folder}/gorgon[-_]interpreters-*/")[0]
            subprocess.run([PYTHON3, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                            "--root-user-action=ignore", "--target", f"{folder}/site", source], check=True)
            result = run(PYTHON3, "-m", "gorgon", cwd=folder, env={"PYTHONPATH": f"{folder}/site"})
            self.assertEqual((result.stderr, result.returncode), ("", 0))
            package = f"{folder}/site/gorgon"
            self.assertRegex(result.stdout, rf"^gorgon \S+, {package}\n.*source {package}/gdb/gorgon\.py\n.*import "
                             rf"{package}/lldb/gorgon\.py\ninterpreters of {PYTHON3}: Python 3")
            for script in "gdb/gorgon.py", "gdb/gorgon_gdb/registration.py", "lldb/gorgon.py", "lldb/gorgon_lldb/registration.py", "debuggers/gorgon_shared/root.py":
                self.assertTrue(os.path.exists(f"{package}/{script}"), script)
            for path in glob.glob(f"{folder}/site/gorgon/*.so*"):
                paths = re.findall(r"Library runpath: (.*)", run("readelf", "-d", path).stdout)
                self.assertLessEqual(set(paths), {"[$ORIGIN]"}, path)

    def test_what_a_build_lacks_is_said_in_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            needs = r"to build it takes make, a C compiler, and the headers of Python, libelf and zlib \(on Debian: .*\)\n$"
            os.mkdir(f"{folder}/bin")
            env = {"PATH": f"{folder}/bin", "GORGON_BUILD": f"{folder}/build", "CC": None}
            result = run(PYTHON3, SETUP, "-q", "build_ext", cwd=f"{ROOT}/python", env=env)
            self.assertRegex(result.stderr, rf"(^|\n)gorgon: make, cc or gcc not found: {needs}")
            self.assertNotIn("Traceback", result.stderr)
            with tempfile.TemporaryDirectory(dir=f"{ROOT}/build") as inside:  # as in a clone where nothing was built
                for place in folder, inside:
                    env = {"GORGON_BUILD": f"{place}/build", "CC": "false"}
                    result = run(PYTHON3, SETUP, "-q", "build_ext", cwd=f"{ROOT}/python", env=env)
                    self.assertRegex(result.stderr, rf"\ngorgon: make has failed, status 2: {needs}")
                    self.assertNotIn("No rule to make target", result.stderr)

    def test_a_free_threaded_python_is_refused_before_anything_is_built(self):
        code = ("import runpy, sys, sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1; "
                "sys.argv = ['setup.py', '-q', 'build_ext']; runpy.run_path('setup.py', run_name='__main__')")
        with tempfile.TemporaryDirectory() as folder:
            result = run(PYTHON3, "-c", code, cwd=f"{ROOT}/python", env={"GORGON_BUILD": f"{folder}/build"})
            self.assertTrue(result.stderr.endswith(f"gorgon: {PYTHON3} is a free-threaded CPython, expected one with a GIL\n"), result.stderr)
            self.assertEqual((result.returncode, os.path.exists(f"{folder}/build/libgorgon.so")), (1, False))

    def test_debuggers_are_started_with_the_scripts(self):
        def module(*words, **env):
            return run(PYTHON3, "-m", "gorgon", *words, env={"PYTHONPATH": self.site, **env})

        def words(program):
            with open(f"{tools}/{program}", "w") as file:
                file.write('#!/bin/sh\nprintf "%s|" "$0" "$@"\n')
            os.chmod(f"{tools}/{program}", 0o755)

        with tempfile.TemporaryDirectory() as tools:
            self.assertEqual(module("gdb", PATH=tools).stderr, "gdb is not installed\n")
            for program in ("gdb", "lldb-19", "gorgon-symdump"):
                words(program)
            gdb, lldb = f"-iex|source {self.site}/gorgon/gdb/gorgon.py|", f"-O|command script import {self.site}/gorgon/lldb/gorgon.py|-O|gorgon symbols auto|"
            for given, begun in ((("gdb", "12", "-batch"), f"{tools}/gdb|{gdb}-p|12|-batch|"),
                                 (("gdb", "a.py", "1"), f"{tools}/gdb|{gdb}--args|{PYTHON3}|a.py|1|"),
                                 (("lldb", "a.py"), f"{tools}/lldb-19|{lldb}--|{PYTHON3}|a.py|"),
                                 (("lldb", "--version"), f"{tools}/lldb-19|{lldb}--version|"),
                                 (("symdump", "12", "--stacks"), f"{tools}/gorgon-symdump|12|--stacks|")):
                self.assertEqual(module(*given, PATH=tools).stdout, begun)
            for word in "--help", "-h":
                asked = module(word)
                self.assertEqual((asked.returncode, asked.stderr, asked.stdout.splitlines()[0]), (0, "", "usage: python3 -m gorgon [info]"))
            wrong = module("nothing")
            self.assertEqual((wrong.returncode, wrong.stderr.splitlines()[0]), (1, "usage: python3 -m gorgon [info]"))

    def test_version_is_the_librarys(self):
        with open(f"{ROOT}/Makefile") as file:
            version = re.search(r"^VERSION := (.*)$", file.read(), re.M)[1].replace("-rc", "rc")  # as Python's packages spell it
        self.check("""
            import importlib.metadata
            print(gorgon.__version__, importlib.metadata.version("gorgon-interpreters"))
            """, f"{version} {version}")

    def test_types_are_those_of_the_module(self):
        self.assertTrue(os.path.exists(f"{self.site}/gorgon/py.typed"))
        with open(f"{self.site}/gorgon/__init__.pyi") as file:
            tree = ast.parse(file.read())
        functions = {node.name: [each.arg for each in node.args.posonlyargs + node.args.args + node.args.kwonlyargs] for node in tree.body
                     if isinstance(node, ast.FunctionDef)}
        names = sorted([*functions, *(node.name for node in tree.body if isinstance(node, ast.ClassDef)), "interpreter"])
        executor = next(node for node in tree.body if getattr(node, "name", "") == "InterpreterPoolExecutor")
        methods = {node.name: [each.arg for each in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
                   for node in executor.body}
        self.check(f"""
            import inspect, re
            def parameters(function):
                kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
                return [p.name for p in inspect.signature(function).parameters.values() if p.kind not in kinds]
            print(sorted(gorgon.__all__) == {names})
            for name, expected in {methods}.items():
                if parameters(getattr(Pool, name)) != expected:
                    print(name, parameters(getattr(Pool, name)))
            for name, expected in {functions}.items():
                function = getattr(gorgon, name)
                signature = getattr(function, "__text_signature__", None) or str(inspect.signature(function))
                told = [word for word in re.findall(r"(?<![=\\w])[a-z_]+", signature)]
                if not set(expected) <= set(told):
                    print(name, told)
            print(Pool.__module__, gorgon.RemoteError.__name__)
            """, "True", "gorgon RemoteError")
