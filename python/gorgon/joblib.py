# SPDX-License-Identifier: MIT
"""joblib's Parallel on interpreters, and what uses that, such as scikit-learn's n_jobs.

    import gorgon.joblib
    with joblib.parallel_config("gorgon", n_jobs=4):
        results = joblib.Parallel()(joblib.delayed(work)(item) for item in items)

Options of the executor may follow: parallel_config("gorgon", n_jobs=4, copy_arguments=True). A Parallel makes its own
executor and ends it, a `with joblib.Parallel() as parallel` at the end of its block; with pool=POOL it uses the given executor,
which stays."""

import os

import joblib
from joblib.parallel import register_parallel_backend
from joblib._parallel_backends import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend

from . import InterpreterPoolExecutor

if not hasattr(joblib, "parallel_config"):
    raise ImportError(f"gorgon.joblib: expected joblib 1.3 or newer, found {joblib.__version__}")


class Backend(AutoBatchingMixin, ParallelBackendBase):
    supports_retrieve_callback = True

    def __init__(self, nesting_level=None, inner_max_num_threads=None, **options):
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self.options = options

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
        self.pool = InterpreterPoolExecutor(n_jobs, **options)
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
        if self.is_own:
            self.pool.shutdown()
        self.reset_batch_stats()

    def abort_everything(self, ensure_ready=True):
        for future in list(self.futures):
            future.cancel()
        if self.is_own:
            self.pool.shutdown(cancel_futures=True, interrupt=True)
            if ensure_ready:
                self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)


register_parallel_backend("gorgon", Backend)
