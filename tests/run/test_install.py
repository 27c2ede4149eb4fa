# SPDX-License-Identifier: MIT
"""An installed tree, used as docs/embedding.md says: pkg-config, a host, gdb's auto-load."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, GDB, ROOT, SANITIZED, run, thorough

# With PYTHONUNBUFFERED a line is written in two parts, as in a python3, and lines of several interpreters mix.
WHOLE_LINES = {"PYTHONUNBUFFERED": None}


def documents_block(language, containing):
    """The one code block of docs/embedding.md that contains a text."""
    with open(f"{ROOT}/docs/embedding.md") as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.M | re.S)
    found = [block for block in blocks if containing in block]
    assert len(found) == 1, (language, containing, len(found))
    return found[0]


CPP_HOST = r"""
#include <gorgon.hpp>
#include <cassert>
#include <cstdio>
#include <cstring>

int main()
{
	gorgon::interpreter interp;
	interp.run_string("def f(*args, **kwargs): return [list(args), kwargs]\n"
			  "def g(x): return {'a': (x, 2.5), 'b': bytearray(b'c\\0')}\n");
	gorgon::value all = gorgon::list{nullptr, true, -7, 0.5, "text", gorgon::bytes{"by"}, gorgon::dict{{1, "one"}}};
	gorgon::value back = interp.call("f", {all}, {{"key", all}});
	assert(back.get<gorgon::list>()[0].get<gorgon::list>()[0].get<gorgon::list>().size() == 7);
	// What comes back is the same in Python's eyes.
	assert(interp.call_in("builtins", "str", {back.get<gorgon::list>()[0]}).get<std::string>() ==
	       "[[None, True, -7, 0.5, 'text', b'by', {1: 'one'}]]");
	assert(interp.call_in("builtins", "str", {back.get<gorgon::list>()[1]}).get<std::string>() ==
	       "{'key': [None, True, -7, 0.5, 'text', b'by', {1: 'one'}]}");
	gorgon::value entries = interp.call("g", {nullptr});
	const gorgon::dict &dict = entries.get<gorgon::dict>();
	assert(dict[0].first.get<std::string>() == "a" && dict[1].first.get<std::string>() == "b");
	assert(dict[0].second.get<gorgon::list>()[1].get<double>() == 2.5);
	assert(dict[1].second.get<gorgon::bytes>().data == std::string("c\0", 2));
	try {
		interp.call("g");
		assert(false);
	} catch (const gorgon::error &error) {
		assert(error.code() == GORGON_ERROR_EXCEPTION);
		assert(!std::strcmp(error.exception()->type, "TypeError"));
	}
	double number = 1.5;
	gorgon_array_opts opts{};
	ptrdiff_t shape = 1;
	opts.size = sizeof(opts);
	opts.layout.format = "d";
	opts.layout.ndim = 1;
	opts.layout.shape = &shape;
	opts.data = &number;
	gorgon::value same = interp.call("f", {gorgon::array(opts)});
	const gorgon::list &args = same.get<gorgon::list>()[0].get<gorgon::list>();
	const void *data = args[0].get<gorgon::array>().info().data;
	assert(data != &number && *static_cast<const double *>(data) == number);
	int calls = 0;
	{
		gorgon::object add = gorgon::function(interp, "add", [&](const gorgon::list &args, const gorgon::dict &kwargs) -> gorgon::value {
			calls++;
			if (args.at(0).index() == GORGON_VALUE_OBJECT)
				return args[0].get<gorgon::object>()({kwargs.size()}).to_value();
			if (args[0].index() != GORGON_VALUE_INT)
				throw std::invalid_argument("no number");
			return args[0].get<int64_t>() + args.at(1).get<int64_t>();
		});
		interp.import("__main__").set_attr("add", add);
	}
	interp.run_string("assert add(1, 2) == 3 and add(str, key=1) == '1'\n"
			  "for wrong, kind in (((), IndexError), (('x',), ValueError), ((len,), TypeError), ((1, 'x'), RuntimeError)):\n"
			  "    try:\n        add(*wrong)\n    except kind:\n        continue\n    raise AssertionError(wrong)\n");
	assert(calls == 6);
	interp.run_string("memory = bytearray(b'abc')\n");
	{
		gorgon::view memory(interp.global("memory"), true);
		static_cast<char *>(memory.info().data)[1] = 'x';
	}
	interp.run_string("memory.append(1)\nassert memory == b'axc\\1', memory\n");
	interp.close();
	try {
		gorgon::interpreter none(nullptr, nullptr);
		gorgon::library library(none, "/nonexistent.so");
		assert(false);
	} catch (const gorgon::error &error) {
		assert(error.code() == GORGON_ERROR_OS && !error.exception());
	}
	try {
		gorgon::interpreter none(nullptr, nullptr);
		gorgon_open_opts opts{};
		gorgon::library library(none, "/nonexistent.so", &opts);
		assert(false);
	} catch (const gorgon::error &error) {
		assert(error.code() == GORGON_ERROR_ARGUMENT);
	}
	std::puts(gorgon_interp_count() ? "left" : "right");
}
"""


def make_environment():
    """This process's environment without what the make that runs the tests has put into it."""
    return {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN", "TESTS")}


class NewMachine(unittest.TestCase):
    def test_set_up_comes_first_where_there_is_neither_compiler_nor_python(self):
        for goal in ("demo", "check"):
            with self.subTest(goal):
                result = subprocess.run(["make", "-n", "-C", ROOT, "--no-print-directory", goal, "CC=no-such-cc",
                                         "PYTHON3=no-such-python", "DEPS=yes"],
                                        capture_output=True, text=True, env=make_environment())
                self.assertEqual((result.stderr, result.returncode), ("", 0))
                self.assertEqual(result.stdout.splitlines()[0], f"tools/setup.sh yes {goal}")

    def test_a_build_names_what_is_missing_and_the_set_up(self):
        for options, missing in (([f"CC={ROOT}/no-such-cc"], f"{ROOT}/no-such-cc"), (["CC=no-such-cache gcc"], "no-such-cache"),
                                 (["CC=no-such-cache no-such-cc -m64"], "no-such-cache no-such-cc"),
                                 (["PYTHON_CFLAGS="], "Python.h"), (["JSON_CFLAGS=", "PYTHON_CFLAGS="], "json.h Python.h")):
            with self.subTest(missing=missing), tempfile.TemporaryDirectory() as folder:
                result = subprocess.run(["make", "-j4", "-C", ROOT, "--no-print-directory", f"BUILD={folder}/build", *options],
                                        capture_output=True, text=True, env=make_environment())
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual([line for line in result.stderr.splitlines() if not line.startswith("make")],
                                 [f"build: not found: {missing}; 'make setup' installs on Debian what a build needs"])

    def test_clean_removes_the_folder_of_results_and_nothing_else(self):
        def clean(*words):
            return subprocess.run(["make", "-C", ROOT, "--no-print-directory", *words, "clean"], capture_output=True, text=True,
                                  env=make_environment())

        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/build/keep")
            os.makedirs(f"{folder}/other/obj")
            self.assertEqual(clean(f"BUILD={folder}/other").returncode, 0)
            self.assertEqual(os.listdir(folder), ["build"])
        for words, removed in ((), "build"), (["BUILD=other"], "other"), (["SAN=thread"], "build/san-thread"):
            self.assertEqual(clean("-n", *words).stdout.splitlines()[-1], f"rm -rf {removed}")
        refused = clean("-n", "BUILD=.")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("BUILD=. is the folder of the sources", refused.stderr)

    def test_the_cross_compiler_is_a_package_on_other_machines_only(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, script in (("dpkg", 'echo "$MACHINE"'),
                                 ("dpkg-query", 'case "$*" in *-aarch64-linux-gnu) exit 1 ;; esac\nexec /usr/bin/dpkg-query "$@"')):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(f"#!/bin/sh\n{script}\n")
                os.chmod(file.name, 0o755)
            for machine, missing in ("amd64", True), ("arm64", False):
                result = subprocess.run([os.path.join(ROOT, "tools", "setup.sh"), "no", "check"], capture_output=True, text=True, check=False,
                                        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "MACHINE": machine})
                self.assertEqual("gcc-aarch64-linux-gnu" in result.stderr, missing, result.stderr)


@unittest.skipIf(SANITIZED, "installs what users get")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = tempfile.mkdtemp(prefix="gorgon-install-")
        subprocess.run(["make", "-C", ROOT, "install", f"PREFIX={cls.prefix}"], check=True, stdout=subprocess.DEVNULL,
                       env=make_environment())
        cls.host = os.path.join(cls.prefix, "host")
        source = cls.host + ".c"
        with open(source, "w") as file:
            file.write(documents_block("c", "gorgon_interp_main"))
        flags = run("pkg-config", "--cflags", "--libs", "libgorgon",
                    env={"PKG_CONFIG_PATH": f"{cls.prefix}/lib/pkgconfig"}).stdout.split()
        subprocess.run(["gcc", "-g", "-Wall", "-Werror", "-pthread", source, "-o", cls.host, *flags,
                        f"-Wl,-rpath,{cls.prefix}/lib"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.prefix)

    def test_documents_host_runs_numpy_in_three_interpreters(self):
        result = run(self.host, env=WHOLE_LINES)
        self.assertEqual((sorted(result.stdout.splitlines()), result.stderr, result.returncode),
                         ([f"interpreter {i}: 3.0" for i in range(3)], "", 0))

    def test_host_in_cpp_passes_values_and_catches_errors(self):
        flags = run("pkg-config", "--cflags", "--libs", "libgorgon",
                    env={"PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"}).stdout.split()
        program = os.path.join(self.prefix, "cpp")
        with open(program + ".cc", "w") as file:
            file.write(CPP_HOST)
        subprocess.run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread", program + ".cc", "-o", program,
                        *flags, f"-Wl,-rpath,{self.prefix}/lib"], check=True)
        result = run(program)
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("right\n", "", 0))

    def test_each_header_compiles_alone_in_c_and_cpp(self):
        self.assertEqual(os.listdir(f"{self.prefix}/include"), ["gorgon"])
        folder = os.path.join(self.prefix, "include", "gorgon")
        headers = [f"gorgon/{name}" for name in sorted(os.listdir(f"{folder}/gorgon"))] + ["gorgon.h", "debug_root.h", "jitreg.h"]
        self.assertIn("gorgon/arrays.h", headers)
        for header in headers:
            for compiler in (["gcc", "-xc", "-std=c11"], ["g++", "-xc++", "-std=c++17"]):
                result = subprocess.run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-"], text=True,
                                        input=f"#include <{header}>\n", capture_output=True, check=False)
                self.assertEqual((result.stderr, result.returncode), ("", 0), header)

    def test_headers_are_found_without_flags_by_the_name_of_their_folder(self):
        for header in ("gorgon.h", "jitreg.h", "debug_root.h", "gorgon/arrays.h"):
            result = subprocess.run(["gcc", "-xc", "-std=c11", "-fsyntax-only", "-Werror", f"-I{self.prefix}/include", "-"], text=True,
                                    input=f"#include <gorgon/{header}>\n", capture_output=True, check=False)
            self.assertEqual((result.stderr, result.returncode), ("", 0), header)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_cmake_finds_the_package_of_its_version_where_it_was_moved_to(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(self.prefix, f"{folder}/moved", symlinks=True)
            with open(f"{folder}/CMakeLists.txt", "w") as file:
                file.write(documents_block("cmake", "find_package"))
            shutil.copy(self.host + ".c", f"{folder}/host.c")
            found = run("cmake", "-S", folder, "-B", f"{folder}/build", f"-DCMAKE_PREFIX_PATH={folder}/moved")
            self.assertEqual(found.returncode, 0, found.stderr)
            built = run("cmake", "--build", f"{folder}/build")
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
            result = run(f"{folder}/build/host", env=WHOLE_LINES)
            self.assertEqual((sorted(result.stdout.splitlines()), result.stderr), ([f"interpreter {i}: 3.0" for i in range(3)], ""))
            self.assertIn(f"{os.path.realpath(folder)}/moved/lib", run("ldd", f"{folder}/build/host").stdout)
            for version, status in (("1.0", 0), ("1.0.0", 0), ("1.1", 1), ("2", 1), ("0.1", 1)):
                with open(f"{folder}/CMakeLists.txt", "w") as file:
                    file.write(f"cmake_minimum_required(VERSION 3.13)\nproject(host C)\nfind_package(Gorgon {version} REQUIRED)\n")
                asked = run("cmake", "-S", folder, "-B", f"{folder}/asked", f"-DCMAKE_PREFIX_PATH={folder}/moved")
                self.assertEqual(asked.returncode, status, f"{version}: {asked.stderr}")
                self.assertEqual("1.0.0" in asked.stderr, bool(status), asked.stderr)

    @unittest.skipUnless(shutil.which("meson") and shutil.which("ninja"), "meson is not installed")
    def test_meson_finds_it_by_pkg_config_and_as_a_subproject(self):
        with tempfile.TemporaryDirectory() as folder:
            for way, env, options in (("installed", {"PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"}, []),
                                      ("subproject", {"PKG_CONFIG_PATH": None}, ["--wrap-mode=forcefallback", f"-Dgorgon:build={BUILD}"])):
                with self.subTest(way):
                    source = f"{folder}/{way}"
                    os.makedirs(f"{source}/subprojects/packagefiles")
                    with open(f"{source}/meson.build", "w") as file:
                        file.write(documents_block("meson", "dependency('libgorgon')"))
                    shutil.copy(self.host + ".c", f"{source}/host.c")
                    shutil.copy(f"{ROOT}/examples/gorgon.wrap", f"{source}/subprojects")
                    if way == "subproject":  # the tree itself, because the tarball takes a minute to build
                        with open(f"{ROOT}/examples/gorgon.wrap") as file:
                            os.symlink(ROOT, f"{source}/subprojects/" + re.search(r"directory = (.*)", file.read())[1])
                    env = {**env, "MAKEFLAGS": None, "MFLAGS": None}
                    made = run("meson", "setup", *options, f"{source}/built", source, env=env)
                    self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
                    built = run("ninja", "-C", f"{source}/built", env=env)
                    self.assertEqual(built.returncode, 0, built.stdout)
                    result = run(f"{source}/built/host", env={**WHOLE_LINES, "LD_LIBRARY_PATH": f"{self.prefix}/lib" if way == "installed" else None})
                    self.assertEqual((sorted(result.stdout.splitlines()), result.stderr), ([f"interpreter {i}: 3.0" for i in range(3)], ""))

    def test_manual_pages_are_found_by_their_functions_names(self):
        for section, name in ((1, "gorgon-symdump"), (3, "gorgon"), (3, "gorgon-pools"), (3, "gorgon_pool_submit")):
            self.assertTrue(os.path.exists(f"{self.prefix}/share/man/man{section}/{name}.{section}"), name)

    def test_installed_command_finds_its_scripts(self):
        result = run(f"{self.prefix}/bin/gorgon", "info")
        self.assertIn(f"source {self.prefix}/share/gorgon/gdb/gorgon.py", result.stdout)

    def test_installed_library_knows_what_children_of_programs_import(self):
        result = run(f"{self.prefix}/bin/gorgon", "run", "-c", "import gorgon, os, sys; print(sys.path[-1], *os.listdir(sys.path[-1]))")
        self.assertEqual(result.stdout, f"{os.path.realpath(self.prefix)}/share/gorgon/children gorgon.py\n", result.stderr)

    @unittest.skipUnless(GDB, "gdb is not installed")
    def test_gdb_loads_the_scripts_by_itself_from_a_safe_directory(self):
        scripts = f"{self.prefix}/share/gdb/auto-load"
        result = run(GDB, "-nx", "-q", "-batch", "-iex", f"set auto-load scripts-directory {scripts}",
                     "-iex", f"add-auto-load-safe-path {scripts}", "-ex", "set debuginfod enabled off",
                     "-ex", "set breakpoint pending on", "-ex", "break time_sleep", "-ex", "run",
                     "-ex", "gorgon list", "-ex", "bt 1", self.host)
        self.assertRegex(result.stdout, r"hit Breakpoint 1\.\d, time_sleep", result.stderr)
        self.assertRegex(result.stdout, r"#0 .*time_sleep .*\[interp [012]\]", result.stderr)

    def test_archives_link_statically_with_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "--static", "libgorgon",
                    env={"PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"}).stdout
        flags = flags.replace("-lgorgon", "-l:libgorgon.a").replace("-ljitreg", "-l:libjitreg.a").split()
        program = os.path.join(self.prefix, "static")
        subprocess.run(["gcc", self.host + ".c", "-o", program, *flags], check=True)
        result = run(program)
        symbols = run("nm", "-D", "--defined-only", program).stdout
        self.assertEqual(len(result.stdout.splitlines()), 3, result.stderr)
        for name in ("__jit_debug_descriptor", "__jit_debug_register_code", "gorgon_debug_root"):
            self.assertIn(name, symbols)

    def test_uninstall_takes_everything_back(self):
        with tempfile.TemporaryDirectory() as prefix:
            env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN", "TESTS")}
            for target in ("install", "uninstall"):
                subprocess.run(["make", "-C", ROOT, target, f"PREFIX={prefix}"], check=True,
                               stdout=subprocess.DEVNULL, env=env)
            self.assertEqual([name for _, _, names in os.walk(prefix) for name in names], [])

    def test_in_usr_local_gdb_finds_the_scripts_where_debians_looks(self):
        with tempfile.TemporaryDirectory() as root:
            env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN", "TESTS")}
            stub = f"{root}/usr/share/gdb/auto-load/usr/local/lib/libgorgon.so.0-gdb.py"
            for target, there in ("install", True), ("uninstall", False):
                result = run("make", "-C", ROOT, target, f"DESTDIR={root}", env=env)
                self.assertEqual((result.returncode, os.path.exists(stub)), (0, there), result.stderr)
            self.assertIn("rm -rf", result.stdout)  # the command that removes what is kept for the user
            self.assertEqual([name for _, _, names in os.walk(root) for name in names], [])

    @unittest.skipUnless(os.path.exists(f"{ROOT}/.git"), "a tree without git has no commit to pack")
    @thorough
    def test_two_tarballs_of_a_commit_have_the_same_bytes_and_the_trees_files(self):
        env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN", "TESTS")}
        with tempfile.TemporaryDirectory() as folder:
            sums = []
            for build in ("first", "second"):
                result = subprocess.run(["make", "-C", ROOT, "dist", f"BUILD={folder}/{build}", f"TZ={build}"], check=True, text=True,
                                        stdout=subprocess.PIPE, env=env)
                sums += re.findall(r"^([0-9a-f]{64})  (gorgon-.*\.tar\.gz)$", result.stdout, re.M)
            self.assertEqual((len(sums), len(set(sums))), (2, 1))
            name = sums[0][1]
            listed = run("tar", "-tzf", f"{folder}/second/{name}").stdout.splitlines()
            there = run("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines()
            self.assertEqual(sorted(line.split("/", 1)[1] for line in listed if line[-1] != "/"), sorted(there))
