# SPDX-License-Identifier: MIT
"""gdb reads this by itself when it sees libgorgon; it registers the "gorgon" commands.

It is installed under gdb's auto-load directory by the library's full name,
DATADIR/gdb/auto-load/LIBDIR/libgorgon.so.0-gdb.py, and the scripts are in DATADIR/gorgon/gdb.
It can also lie, or be linked to, beside the library."""


def _register_gorgon():
    import os
    import sys

    import gdb

    def candidates(objfile):
        here = os.path.abspath(__file__)
        yield os.path.dirname(os.path.realpath(here))
        before, found, _ = here.rpartition("/gdb/auto-load/")
        if found:
            yield os.path.join(before, "gorgon", "gdb")
        if objfile is not None and objfile.filename:
            libdir = os.path.dirname(os.path.realpath(objfile.filename))
            yield os.path.join(os.path.dirname(libdir), "gdb")  # a build folder
            # LIBDIR may be deeper than PREFIX/lib.
            for _ in range(3):
                libdir = os.path.dirname(libdir)
                yield os.path.join(libdir, "share", "gorgon", "gdb")

    objfile = gdb.current_objfile()
    for folder in candidates(objfile):
        if os.path.isfile(os.path.join(folder, "gorgon_gdb", "registration.py")):
            if folder not in sys.path:
                sys.path.insert(0, folder)
            from gorgon_gdb import registration
            registration.register(objfile)
            return
    gdb.write(f"gorgon: {__file__}: the folder gorgon_gdb is not where it was installed\n")


_register_gorgon()
