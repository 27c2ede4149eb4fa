# SPDX-License-Identifier: MIT
"""joblib's Parallel on interpreters, and what uses that, such as scikit-learn's n_jobs.

    import gorgon.joblib
    with joblib.parallel_config("gorgon", n_jobs=4):
        results = joblib.Parallel()(joblib.delayed(work)(item) for item in items)

Options of the executor may follow: parallel_config("gorgon", n_jobs=4, copy_arguments=True). The executor and its workers stay
for the next Parallel with the same n_jobs and options, as loky's do, and end when none has used them for idle_worker_timeout
seconds (300). A Parallel that runs beside another one has an executor of its own. With pool=POOL Parallel uses the given executor,
which stays."""

import os
import threading

import joblib
from joblib.parallel import register_parallel_backend
from joblib._parallel_backends import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend

from . import InterpreterPoolExecutor

if not hasattr(joblib, "parallel_config"):
    raise ImportError(f"gorgon.joblib: expected joblib 1.3 or newer, found {joblib.__version__}")


class Spare:
    """The executor that the last Parallel has left, until one takes it or its time is over."""

    def __init__(self):
        self.lock, self.pool, self.options, self.timer = threading.Lock(), None, None, None

    def take(self, options):
        """An executor with these options: the one that is left, or a new one."""
        with self.lock:
            pool, self.pool, found, self.options = self.pool, None, self.options, None
            if self.timer:
                self.timer.cancel()
        if pool:
            if not pool._broken and is_same(found, options):
                return pool
            pool.shutdown()
        return InterpreterPoolExecutor(**options)

    def leave(self, pool, options, seconds):
        with self.lock:
            if not (pool._broken or self.pool):
                self.pool, pool, self.options = pool, None, options
                self.timer = threading.Timer(seconds, self.end, [self.pool])
                self.timer.daemon = True
                self.timer.start()
        if pool:
            pool.shutdown()

    def end(self, pool):
        with self.lock:
            if self.pool is not pool:
                return
            self.pool = self.options = None
        pool.shutdown()


def is_same(one, other):
    try:
        return bool(one == other)
    except Exception:  # arrays in initargs have no one answer
        return False


spare = Spare()


def forget():
    """A child of fork() has none of its parent's workers."""
    global spare
    spare = Spare()


os.register_at_fork(after_in_child=forget)


class Backend(AutoBatchingMixin, ParallelBackendBase):
    supports_retrieve_callback = True

    def __init__(self, nesting_level=None, inner_max_num_threads=None, idle_worker_timeout=300, **options):
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self.idle, self.options = idle_worker_timeout, options

    def effective_n_jobs(self, n_jobs):
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(len(os.sched_getaffinity(0)) + 1 + n_jobs, 1)

    def configure(self, n_jobs=1, parallel=None, **unused):
        """unused: where processes put arrays."""
        n_jobs = self.effective_n_jobs(n_jobs)
        self.parallel, self.futures = parallel, set()
        options = dict(self.options)
        self.pool = options.pop("pool", None)
        self.is_own = self.pool is None
        if not self.is_own:
            return self.pool._max_workers
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.pool_options = {"max_workers": n_jobs, **options}
        self.pool = spare.take(self.pool_options)
        return n_jobs

    def submit(self, func, callback=None):
        future = self.pool.submit(func)
        self.futures.add(future)
        future.add_done_callback(self.futures.discard)
        if callback:
            future.add_done_callback(callback)
        return future

    apply_async = submit  # before joblib 1.5

    def retrieve_result_callback(self, out):
        return out.result()

    def terminate(self):
        if self.is_own and self.pool:
            self.pool, pool = None, self.pool
            spare.leave(pool, self.pool_options, self.idle)
        self.reset_batch_stats()

    def abort_everything(self, ensure_ready=True):
        for future in list(self.futures):
            future.cancel()
        # Workers that have nothing to do are as good as new ones.
        if self.is_own and any(not future.done() for future in list(self.futures)):
            self.pool.shutdown(cancel_futures=True, interrupt=True)
            self.pool = spare.take(self.pool_options) if ensure_ready else None
        elif self.is_own and not ensure_ready:
            self.terminate()


register_parallel_backend("gorgon", Backend)
