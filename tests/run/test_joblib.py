# SPDX-License-Identifier: MIT
"""joblib's backend: one executor, and its workers, for many Parallels, as loky's."""

import os
import sys
import textwrap

sys.path.insert(0, os.path.dirname(__file__))
from harness import VENV_PYTHON  # noqa: E402
from test_executor import Package  # noqa: E402

# A worker's mark tells it from any other that was there before.
START = """
import builtins, joblib, threading
import gorgon.joblib
from joblib import Parallel, delayed

def mark(item):
    import builtins, os
    if not hasattr(builtins, "mark"):
        builtins.mark = os.urandom(8)
    if item == "fail":
        raise ValueError(item)
    return builtins.mark

def marks(**options):
    return set(Parallel(**options)(delayed(mark)(item) for item in range(20)))

def is_true_soon(condition):
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()
"""


class Joblib(Package):
    def check_venv(self, code, *lines):
        self.check(START + textwrap.dedent(code), *lines, python=VENV_PYTHON)

    def test_workers_stay_for_the_next_parallel(self):
        self.check_venv("""
            with joblib.parallel_config("gorgon", n_jobs=2):
                seen = marks() | marks() | marks()
                print(len(seen) <= 2, gorgon.count())
                with Parallel() as parallel:
                    both = [set(parallel(delayed(mark)(item) for item in range(20))) for _ in range(2)]
                print(both[0] | both[1] <= seen or len(both[0] | both[1] | seen) == 2, gorgon.count())
            """, "True 2", "True 2")

    def test_other_numbers_and_options_have_other_workers(self):
        self.check_venv("""
            with joblib.parallel_config("gorgon", n_jobs=2):
                seen = marks()
                print(seen & marks(n_jobs=3), gorgon.count())
            with joblib.parallel_config("gorgon", n_jobs=2, copy_arguments=True):
                print(seen & marks(), gorgon.count())
            """, "set() 3", "set() 2")

    def test_workers_end_when_nobody_has_used_them_for_the_idle_time(self):
        self.check_venv("""
            with joblib.parallel_config("gorgon", n_jobs=2, idle_worker_timeout=0.2):
                seen = marks()
                print(is_true_soon(lambda: gorgon.count() == 0), seen & marks())
            """, "True set()")

    def test_workers_stay_after_an_error(self):
        self.check_venv("""
            with joblib.parallel_config("gorgon", n_jobs=2):
                seen = marks()
                print(fails(Parallel(), [delayed(mark)("fail")]))
                print(len(seen | marks()) <= 2, gorgon.count())
                print(fails(Parallel(), [delayed(mark)("fail"), delayed(time.sleep)(600)]))
                print(len(marks()) <= 2, gorgon.count())
            """, "ValueError: fail", "True 2", "ValueError: fail", "True 2")

    def test_two_at_once_have_an_executor_each(self):
        self.check_venv("""
            arrived, go = threading.Semaphore(0), threading.Event()
            def meet(arrived, go):
                arrived.release()
                return go.wait(60)
            def whole():
                with joblib.parallel_config("gorgon", n_jobs=2):
                    results.append(Parallel(batch_size=1)(delayed(meet)(arrived, go) for _ in range(2)))
            results = []
            threads = [threading.Thread(target=whole) for _ in range(2)]
            for thread in threads:
                thread.start()
            print([arrived.acquire(timeout=60) for _ in range(4)], gorgon.count())
            go.set()
            for thread in threads:
                thread.join()
            print(results, gorgon.count())
            """, "[True, True, True, True] 4", "[[True, True], [True, True]] 2")

    def test_a_forked_child_has_workers_of_its_own(self):
        self.check_venv("""
            with joblib.parallel_config("gorgon", n_jobs=2):
                seen = marks()
                child = os.fork()
                if not child:
                    status = 9
                    try:
                        status = len(seen & marks())
                    finally:
                        os._exit(status)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(seen | marks()) <= 2)
            """, "0 True")

    def test_a_given_executor_stays(self):
        self.check_venv("""
            with Pool(2) as pool:
                with joblib.parallel_config("gorgon", pool=pool):
                    seen = marks() | marks()
                print(len(seen) <= 2, pool.submit(mark, 0).result() in seen or len(seen) == 1)
            """, "True True")
