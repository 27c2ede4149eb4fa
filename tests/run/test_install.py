# SPDX-License-Identifier: MIT
"""An installed tree, used as the README says: pkg-config, a host, gdb's auto-load."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import GDB, ROOT, SANITIZED, run


def readme_block(language, containing):
    """The one code block of the README that contains a text."""
    with open(f"{ROOT}/README.md") as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.M | re.S)
    found = [block for block in blocks if containing in block]
    assert len(found) == 1, (language, containing, len(found))
    return found[0]


@unittest.skipIf(SANITIZED, "installs what users get")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = tempfile.mkdtemp(prefix="gorgon-install-")
        # Variables of the outer make must not reach this one.
        env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN")}
        subprocess.run(["make", "-C", ROOT, "install", f"PREFIX={cls.prefix}"], check=True, stdout=subprocess.DEVNULL,
                       env=env)
        cls.host = os.path.join(cls.prefix, "host")
        source = cls.host + ".c"
        with open(source, "w") as file:
            file.write(readme_block("c", "gorgon_interp_main"))
        flags = run("pkg-config", "--cflags", "--libs", "libgorgon",
                    env={"PKG_CONFIG_PATH": f"{cls.prefix}/lib/pkgconfig"}).stdout.split()
        subprocess.run(["gcc", "-g", "-Wall", "-Werror", "-pthread", source, "-o", cls.host, *flags,
                        f"-Wl,-rpath,{cls.prefix}/lib"], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.prefix)

    def test_readme_host_runs_numpy_in_three_interpreters(self):
        result = run(self.host)
        self.assertEqual((sorted(result.stdout.splitlines()), result.stderr, result.returncode),
                         ([f"interpreter {i}: 3.0" for i in range(3)], "", 0))

    def test_installed_command_finds_its_scripts(self):
        result = run(f"{self.prefix}/bin/gorgon", "info")
        self.assertIn(f"source {self.prefix}/share/gorgon/gdb/gorgon.py", result.stdout)

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
            env = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN")}
            for target in ("install", "uninstall"):
                subprocess.run(["make", "-C", ROOT, target, f"PREFIX={prefix}"], check=True,
                               stdout=subprocess.DEVNULL, env=env)
            self.assertEqual([name for _, _, names in os.walk(prefix) for name in names], [])
