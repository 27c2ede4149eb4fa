# SPDX-License-Identifier: MIT
"""Ways to name a Python, environments to run it in, and what it says of itself there.

The rule is that `gorgon run --python EXE` says what EXE says, in the same environment. Of PYTHONHOME
only the loader's interpreters know nothing: with one that is not for it EXE does not even start."""

import json
import os
import shutil
import subprocess

from harness import GORGON, LIBPYTHON, run

SAY = """
import json, os, site, sys, sysconfig
print(json.dumps({
    **{name: getattr(sys, name) for name in ("executable", "_base_executable", "prefix", "base_prefix", "exec_prefix",
                                             "base_exec_prefix", "path", "platlibdir", "version", "abiflags", "orig_argv",
                                             "argv", "warnoptions", "_xoptions", "pycache_prefix")},
    "flags": str(sys.flags), "implementation": str(sys.implementation), "os": os.__file__, "paths": sysconfig.get_paths(),
    "variables": {name: str(value) for name, value in sysconfig.get_config_vars().items()},
    "user": [site.ENABLE_USER_SITE, site.getuserbase()], "home": os.environ.get("PYTHONHOME"),
    "encodings": [sys.stdout.encoding, sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()]}))
"""


def venv(python, path, *options):
    subprocess.run([python, "-m", "venv", "--without-pip", *options, path], check=True)
    return os.path.join(path, "bin", "python")


def link(target, path):
    os.symlink(target, path)
    return path


def ways(python, folder):
    """{way: an executable} for each way to name an installed Python. @folder gets the files that some ways need."""
    os.makedirs(folder)
    links = venv(python, f"{folder}/links", "--symlinks")
    copies = venv(python, f"{folder}/copies", "--copies")
    shutil.copytree(f"{folder}/links", f"{folder}/moved", symlinks=True)
    return {
        "itself": python,
        "a link from elsewhere": link(python, f"{folder}/link"),
        "an environment of links": links,
        "an environment of copies": copies,
        "an environment with the system's packages": venv(python, f"{folder}/system", "--system-site-packages"),
        "an environment of an environment": venv(links, f"{folder}/of-links"),
        "copies of copies": venv(copies, f"{folder}/of-copies", "--copies"),
        "a link to an environment's": link(links, f"{folder}/link-to-venv"),
        "an environment through a linked folder": link(f"{folder}/links", f"{folder}/linked") + "/bin/python",
        "an environment that was moved": f"{folder}/moved/bin/python",
    }


def surroundings(folder, other):
    """{what: (environment, current directory)}. @other is another Python, which must not play a part."""
    names, cwd = f"{folder}/names", f"{folder}/cwd"
    os.makedirs(names)
    os.makedirs(cwd)
    for name in ("python", "python3", *(f"python3.{minor}" for minor in range(11, 16))):
        os.symlink(other, f"{names}/{name}")
    with open(f"{cwd}/pyvenv.cfg", "w") as file:
        file.write(f"home = {os.path.dirname(other)}\ninclude-system-site-packages = false\n")
    return {
        "nothing": ({}, "/"),
        "another python on PATH": ({"PATH": f"{names}:/usr/bin:/bin"}, "/"),
        "no PATH": ({"PATH": None}, "/"),
        "PYTHONHOME of another": ({"PYTHONHOME": os.path.dirname(os.path.dirname(other))}, "/"),
        "PYTHONHOME of nobody": ({"PYTHONHOME": "/nonexistent"}, "/"),
        "PYTHONPATH": ({"PYTHONPATH": "/some/where:else"}, "/"),
        "pyvenv.cfg in the current directory": ({}, cwd),
        "another python's names there": ({}, names),
        "names of other systems": ({"PYTHONEXECUTABLE": "/x/python", "__PYVENV_LAUNCHER__": "/x/launcher"}, "/"),
        "PYTHONSAFEPATH": ({"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}, "/"),
        "options by variables": ({"PYTHONOPTIMIZE": "1", "PYTHONUTF8": "1", "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1",
                                  "PYTHONPYCACHEPREFIX": "/nonexistent", "LC_ALL": "C"}, "/"),
    }


# Each file of the libraries' folder stays where it is, but as a link, so that there is a C library at every moment.
HIDE = 'mount --rbind "$1" "$2/real" && mount --bind "$2/links" "$1" && shift 2 && exec "$@"'


def can_hide():
    return bool(shutil.which("unshare")) and run("unshare", "-rm", "true").returncode == 0


def without_libpython(folder, *command, **kwargs):
    """Run a command where the system's libpythons are not installed. @folder is empty."""
    libraries = os.path.dirname(LIBPYTHON)
    os.makedirs(f"{folder}/real")
    os.makedirs(f"{folder}/links")
    for name in os.listdir(libraries):
        if not name.startswith("libpython"):
            os.symlink(f"{folder}/real/{name}", f"{folder}/links/{name}")
    return run("unshare", "-rm", "sh", "-c", HIDE, "-", libraries, folder, *command, **kwargs)


def forms(folder):
    """{form: arguments}: the same program in three ways."""
    with open(f"{folder}/say.py", "w") as file:
        file.write(SAY)
    return {"-c": ["-c", SAY], "FILE": [f"{folder}/say.py"], "-m": ["-m", "say"]}


def ask(*command, env, cwd):
    """What the Python says of itself, or how it has failed."""
    result = run(*command, env={"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent", **env}, cwd=cwd)
    return json.loads(result.stdout) if not result.returncode else {"status": result.returncode, "stderr": result.stderr}


def differences(executable, arguments, env, cwd, options=()):
    """What private copies of the Python say differently: [(what, the executable's, ours)]."""
    home = env.get("PYTHONHOME")
    expected = {**ask(executable, *arguments, env={**env, "PYTHONHOME": None}, cwd=cwd), "home": home}
    seen = ask(GORGON, "run", *options, "--python", executable, *arguments, env=env, cwd=cwd)
    return [(name, expected.get(name), seen.get(name)) for name in sorted({*expected, *seen})
            if expected.get(name) != seen.get(name)]
