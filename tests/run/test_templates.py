# SPDX-License-Identifier: MIT
"""Executors whose workers are copies of a template, beside those whose workers start and beside processes."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import harness  # noqa: E402
import pythons  # noqa: E402
from harness import VENV_PYTHON  # noqa: E402
from test_executor import Package  # noqa: E402

PROGRAM = """
    import concurrent.futures, enum, multiprocessing, warnings
    import numpy

    LIMIT = 3
    seen = []

    class Colour(enum.Enum):
        RED = 1

    def prepare(value):
        global LIMIT
        LIMIT = value

    def look(n):
        import decimal, random, threading
        seen.append(n)
        assert threading.current_thread() is threading.main_thread()
        return (n * LIMIT, len(seen), Colour(n), decimal.Decimal(n) / 8, numpy.arange(n + 1).sum(), os.environ.get("LATER"),
                os.environ.get("GONE"), sorted(name for name in globals() if not name.startswith("__")), sys.path[1:],
                __name__, os.getcwd(), (random.random(), numpy.random.rand()))

    def fail(n):
        return {}[n]

    def show(pool):
        draws = []
        for n in 1, 1:
            *values, drawn = pool.submit(look, n).result()
            print(values)
            draws.append(drawn)
            os.environ["LATER"] = "yes"
            os.environ.pop("GONE", None)
        print(len({draw for pair in draws for draw in pair}))
        try:
            pool.submit(fail, 7).result()
        except KeyError as error:
            print(repr(error), "in fail" in str(error.__cause__))

    if __name__ == "__main__":
        os.environ["GONE"] = "not yet"
        spawn = multiprocessing.get_context("spawn")
        options = {"max_tasks_per_child": 1, "initializer": prepare, "initargs": (5,)}
        if sys.argv[1] == "processes":
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn, **options) as pool:
                show(pool)
        else:
            warnings.simplefilter("error")
            with Pool(1, **options, **({"template": "import numpy"} if sys.argv[1] == "template" else {})) as pool:
                show(pool)
    """


@unittest.skipUnless(harness.TEMPLATES, "templates are known of CPython 3.11 and 3.13")
class Templates(Package):
    def test_copies_do_what_workers_that_start_and_processes_do(self):
        outputs = [self.run_file(PROGRAM, arguments=[mode]).stdout for mode in
                   ("processes", "started", "template")]
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[1], outputs[2])
        self.assertEqual(len(outputs[2].splitlines()), 4)

    def test_a_template_that_is_refused_is_named_once_and_workers_start(self):
        self.check("""
            import threading, warnings
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for program in "import sys; sys.file = open('/etc/passwd')", "import ctypes; ctypes.CDLL(None).getgrent()":
                    with Pool(2, max_tasks_per_child=1, template=program) as pool:
                        print(list(pool.map(abs, range(-3, 1))))
            for each in caught:
                print(each.category.__name__, each.message)
            """, "[3, 2, 1, 0]", "[3, 2, 1, 0]",
                   "RuntimeWarning workers start without a template: it leaves a descriptor open: 3 (/etc/passwd), expected none",
                   "RuntimeWarning workers start without a template: it has used setgrent(), or another function with the same state, which copies do not have")

    def test_a_warning_that_filters_make_an_error_goes_where_those_of_threads_go(self):
        self.check("""
            import threading, warnings
            warnings.simplefilter("error")
            threading.excepthook = lambda args: print(args.exc_type.__name__, args.exc_value, args.thread is not threading.main_thread())
            with Pool(2, max_tasks_per_child=1, template="import sys; sys.file = open('/etc/passwd')") as pool:
                print(list(pool.map(abs, range(-3, 1))))
            """, "RuntimeWarning workers start without a template: it leaves a descriptor open: 3 (/etc/passwd), expected none True",
                   "[3, 2, 1, 0]")

    def test_a_template_that_fails_is_the_programs_error(self):
        self.check("""
            with Pool(1, template="import no_such_module") as pool:
                print(fails(pool.submit(abs, -1).result))
            print(fails(Pool, template="import os os"))
            print(fails(Pool, template=["numpy"]))
            print(fails(Pool, template="import os", python_lines="on"))
            print(gorgon.count())
            """, "BrokenInterpreterPool: interpreter 0: ModuleNotFoundError: No module named 'no_such_module'",
                   "SyntaxError: invalid syntax (<template>, line 1)",
                   "TypeError: template must be a str of statements that import, found ['numpy']",
                   "ValueError: python_lines is 'on', expected 'off' with a template: copies have no Python lines", "0")

    def test_executors_in_turn_share_a_template(self):
        """With the same needs; what a library does at its import may depend on the environment."""
        self.check("""
            import gorgon._gorgon as inner
            made, make = [], inner._template
            inner._template = lambda *needs: made.append(needs[4]) or make(*needs)
            def look():
                import gorgon
                return os.environ.get("HOW"), "decimal" in sys.modules, gorgon.interpreter >= 4
            for how in "first", "first", "other":
                os.environ["HOW"] = how
                with Pool(2, template="import decimal") as pool:
                    print(pool.submit(look).result())
            print(f'{made[:1]} * {len(made)}')
            """, "('first', True, True)", "('first', True, True)", "('other', True, True)", "['template: import decimal'] * 2")

    @unittest.skipUnless(pythons.can_hide(), "unshare is not installed, or not allowed")
    def test_copies_know_their_threads_where_numbers_are_small(self):
        """As in a container: ints below 257 are objects of which there is one."""
        result = self.run_file("""
            import threading

            def numbers(n):
                return threading.main_thread().native_id == threading.get_native_id() < 257

            if __name__ == "__main__":
                with Pool(2, max_tasks_per_child=1, template="import threading") as pool:
                    print(list(pool.map(numbers, range(4))))
            """, before=["unshare", "-rpf", "--mount-proc"])
        self.assertEqual(result.stdout, "[True, True, True, True]\n", result.stderr)

    def needs(self, module):
        if not os.path.exists(VENV_PYTHON) or harness.run(VENV_PYTHON, "-c", f"import {module}").returncode:
            self.skipTest(f"the virtual environment has no {module} for this machine")

    def test_numpy_of_wheels_is_what_a_start_is(self):
        # Its C++ allocates, its Fortran has texts, and it knows casts by addresses.
        self.needs("numpy")
        self.check("""
            import warnings
            warnings.simplefilter("error")

            def work(n):
                import numpy
                casts = [numpy.ones(3, one).astype(other).dtype.name for one in "bhifd?" for other in "fdFD?"]
                return (numpy.__version__, numpy.unique(["b", "a", "b"]).tolist(), numpy.unique(numpy.arange(9) % 4).tolist(), casts,
                        numpy.linalg.inv(numpy.eye(n)).sum(), (numpy.ones((n, 200)) @ numpy.ones((200, n))).sum())

            for options in {}, {"template": "import numpy"}:
                with Pool(2, max_tasks_per_child=1, **options) as pool:
                    print(list(pool.map(work, range(1, 5))) == [work(n) for n in range(1, 5)])
            """, "True", "True", python=VENV_PYTHON)

    def test_joblib_has_the_option(self):
        self.needs("joblib")
        self.check("""
            import joblib, gorgon.joblib
            with joblib.parallel_config("gorgon", n_jobs=2, template="import decimal"):
                look = lambda n: (n, "decimal" in sys.modules)
                print(joblib.Parallel()(joblib.delayed(look)(n) for n in range(3)))
            """, "[(0, True), (1, True), (2, True)]", python=VENV_PYTHON)


if __name__ == "__main__":
    unittest.main()
