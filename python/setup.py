# SPDX-License-Identifier: MIT
"""The extension module, and the libraries that it needs beside it: made by the Makefile one folder up, or of the sources
that a source distribution has in a folder `source`."""

import glob
import os
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "source")
ROOT = SOURCE if os.path.exists(SOURCE) else os.path.dirname(HERE)
BUILD = os.path.abspath(os.environ.get("GORGON_BUILD", os.path.join(ROOT, "build")))
OWN = os.path.join(BUILD, "python")  # what setuptools makes on the way
LIBRARIES = ["libgorgon.so.0", "libjitreg.so.0"]
DEBUGGERS = ["gdb", "lldb", "debuggers"]  # folders of scripts
NEEDED = "make, a C compiler, and the headers of Python, libelf and zlib (on Debian: gcc make pkg-config python3-dev libelf-dev zlib1g-dev)"


def make(env):
    missing = [" or ".join(names) for names in (("make",), (env.get("CC", "cc").split()[0], "gcc"))
               if not any(map(shutil.which, names))]
    if missing:
        raise SystemExit(f"gorgon: {', '.join(missing)} not found: to build it takes {NEEDED}")
    folder = BUILD.removeprefix(ROOT + os.sep)  # the Makefile has rules for what is in it by such a name
    try:
        subprocess.run(["make", f"-j{os.cpu_count()}", "-C", ROOT, f"BUILD={folder}", f"{folder}/libgorgon.so"], check=True, env=env)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"gorgon: make has failed, status {error.returncode}: to build it takes {NEEDED}") from None


class Build(build_ext):
    """Make libgorgon first, and put it where the extension looks for it."""

    def run(self):
        if sysconfig.get_config_var("Py_GIL_DISABLED"):  # it has no stable ABI either
            raise SystemExit(f"gorgon: {sys.executable} is a free-threaded CPython, expected one with a GIL")
        # Variables of an outer make must not reach this one.
        make({name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")})
        super().run()
        folder = os.path.dirname(self.get_ext_fullpath("gorgon._gorgon"))
        for name in LIBRARIES:
            shutil.copy2(os.path.join(BUILD, name), folder)
        # A package that is used where its sources are finds the scripts there.
        for name in [] if self.inplace else DEBUGGERS:
            shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name), dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("__pycache__"))


class Sources(sdist):
    """What the Makefile needs goes along."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in "loader", "jitreg", "tools", *DEBUGGERS:
            shutil.copytree(os.path.join(ROOT, name), os.path.join(base_dir, "source", name),
                            ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Makefile", "LICENSE", "tests/check_exports.py", "tests/modules/modules.mk", "tests/parity/parity.mk",
                     *glob.glob("tests/machine/*/modules.mk", root_dir=ROOT)):
            target = os.path.join(base_dir, "source", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), target)


os.makedirs(OWN, exist_ok=True)
setup(
    ext_modules=[Extension(
        "gorgon._gorgon", ["gorgon/_gorgon.c"], py_limited_api=True, include_dirs=[os.path.join(ROOT, "loader")],
        library_dirs=[BUILD], libraries=["gorgon", "jitreg"], extra_link_args=["-Wl,-rpath,$ORIGIN"])],
    cmdclass={"build_ext": Build, "sdist": Sources},
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build": {"build_base": OWN},
             "egg_info": {"egg_base": OWN}},
)
