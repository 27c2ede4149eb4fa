# SPDX-License-Identifier: MIT
"""The extension module, and the libraries that it needs beside it: made by the Makefile one folder up."""

import os
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("GORGON_BUILD", os.path.join(ROOT, "build")))
OWN = os.path.join(BUILD, "python")  # what setuptools makes on the way
LIBRARIES = ["libgorgon.so.0", "libjitreg.so.0"]


class Build(build_ext):
    """Make libgorgon first, and put it where the extension looks for it."""

    def run(self):
        # Variables of an outer make must not reach this one.
        env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
        subprocess.run(["make", "-C", ROOT, f"BUILD={BUILD}", f"{BUILD}/libgorgon.so"], check=True, env=env)
        super().run()
        folder = os.path.dirname(self.get_ext_fullpath("gorgon._gorgon"))
        for name in LIBRARIES:
            shutil.copy2(os.path.join(BUILD, name), folder)


os.makedirs(OWN, exist_ok=True)
setup(
    ext_modules=[Extension(
        "gorgon._gorgon", ["gorgon/_gorgon.c"], py_limited_api=True, include_dirs=[os.path.join(ROOT, "loader")],
        library_dirs=[BUILD], libraries=["gorgon", "jitreg"], extra_link_args=["-Wl,-rpath,$ORIGIN"])],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build": {"build_base": OWN},
             "egg_info": {"egg_base": OWN}},
)
