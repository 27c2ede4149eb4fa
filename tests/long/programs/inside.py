# SPDX-License-Identifier: MIT
"""Run tests inside a worker process, an executor's worker, a pool's job or a host's call, and note how each ends.

usage: inside.py process|worker|copy FOLDER RUNNER WORD...      copy: the worker is a copy of a template, $TEMPLATE

Words are as for suite.py. Of jobs and calls hosts/two.c calls main() in two interpreters, of which the second has nothing to do."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def main(who, folder, runner, *words):
    import suite  # here: it imports more than a host needs
    if who == "first":
        suite.run_suite(folder, runner, words)
        open(f"{folder}/ended", "w").close()


def main_of_pool(kind, *words):
    if kind == "process":
        from concurrent.futures import ProcessPoolExecutor as Pool
    else:
        import signal
        from gorgon import InterpreterPoolExecutor as Pool
        if kind == "copy":
            import functools, warnings  # noqa: E401
            warnings.simplefilter("error", RuntimeWarning)  # where the template is refused
            Pool = functools.partial(Pool, template=os.environ.get("TEMPLATE", "import os"))
        # Tests send Ctrl-C to the process; it is the host's.
        signal.signal(signal.SIGINT, lambda *_: None)
    with Pool(1) as pool:
        pool.submit(main, "first", *words).result()


if __name__ == "__main__" and sys.argv[1:]:
    main_of_pool(*sys.argv[1:])
