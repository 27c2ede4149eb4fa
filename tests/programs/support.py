# SPDX-License-Identifier: MIT
"""What generated programs use: executors by mode, and descriptions of what they see."""

import contextlib
import functools
import itertools
import multiprocessing
import os
import re
import sys
import traceback
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

MODE = sys.argv[1] if len(sys.argv) > 1 else "gorgon"
PEERS = "fork", "spawn"
# Of which workers are copies in two modes; elsewhere they start. pandas imports pyarrow, which has hashes of addresses.
TEMPLATE = "import concurrent.futures.process, importlib.util, multiprocessing.spawn\n" \
           "there = importlib.util.find_spec\n" \
           "for name in 'numpy', 'pandas', 'scipy.sparse':\n" \
           "    if there(name.partition('.')[0]) and (name != 'pandas' or not there('pyarrow')): __import__(name)\n"


class Adapter:
    """An executor that does each call at once."""

    def __init__(self, **options):
        self.options = options

    def submit(self, function, *args, **kwargs):
        future = Future()
        try:
            future.set_result(self.run(function, args, kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def map(self, function, *iterables):
        return [self.run(function, args, {}) for args in zip(*iterables)]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Dask(Adapter):
    def __init__(self, copies, **options):
        if MODE == "dask-fork":
            context = multiprocessing.get_context("fork")
            self.pool = ProcessPoolExecutor(1, mp_context=context, **options)
        else:
            import gorgon
            self.pool = gorgon.InterpreterPoolExecutor(1, copy_arguments=copies, **options)

    def run(self, function, args, kwargs):
        import dask
        work = functools.partial(function, *args, **kwargs)
        call = dask.delayed(work, pure=False, traverse=False)
        return call().compute(scheduler=self.pool)

    def __exit__(self, *error):
        self.pool.shutdown()


class Joblib(Adapter):
    """Parallel with one worker: what it keeps is there for each call. With one job Parallel would
    not use a worker at all."""
    seconds = None

    def __init__(self, copies, **options):
        import gorgon
        import gorgon.joblib
        gorgon.joblib.InterpreterPoolExecutor = \
            lambda max_workers, **rest: gorgon.InterpreterPoolExecutor(1, **rest)
        super().__init__(backend="gorgon", copy_arguments=copies, **options)

    def run(self, function, args, kwargs):
        import joblib
        with joblib.parallel_config(n_jobs=2, **self.options):
            return joblib.Parallel(timeout=self.seconds)([joblib.delayed(function)(*args, **kwargs)])[0]


class Loky(Joblib):
    seconds = 20

    def __init__(self, copies, **options):
        from joblib import _parallel_backends as backends
        make = backends.get_memmapping_executor
        if not isinstance(make, functools.partial):
            backends.get_memmapping_executor = functools.partial(self.make, make)
        Adapter.__init__(self, backend="loky", max_nbytes=None, **options)

    @staticmethod
    def make(make, n_jobs, **options):
        return make(1, **options)


class CPool(Adapter):
    def __init__(self, copies, **options):
        import cpool
        self.pool = cpool.Pool(program=TEMPLATE if MODE == "cpool-copies" else None, **options)
        self.run = self.pool.run

    def __exit__(self, *error):
        self.pool.shutdown()


class Cluster(Adapter):
    """A local cluster of dask.distributed with one worker process; "dask-cluster" is dask's own, with one thread. The worker has
    another one after it when a call has killed it, or hangs: what is not an Exception is never told by dask."""
    seconds = 40

    def __init__(self, copies, **options):
        super().__init__(**options)
        self.keys = map("call-{}".format, itertools.count())
        self.begin()

    def begin(self):
        import logging
        import dask
        from distributed import Client, LocalCluster
        with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
            self.cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)
        self.client = Client(self.cluster)
        if MODE == "cluster":
            import gorgon.distributed
            self.client.register_plugin(gorgon.distributed.Interpreters(**self.options))
        elif self.options:
            self.client.register_plugin(self.beginning(**self.options))

    @staticmethod
    def beginning(initializer, initargs):
        from distributed import WorkerPlugin

        class Beginning(WorkerPlugin):
            def setup(self, worker):
                initializer(*initargs)

        return Beginning()

    def run(self, function, args, kwargs):
        from distributed import KilledWorker, TimeoutError
        future = self.client.submit(functools.partial(function, *args, **kwargs), key=next(self.keys))
        try:
            return future.result(self.seconds)
        except (KilledWorker, TimeoutError) as error:
            if future.done() and not isinstance(error, KilledWorker):
                raise
            self.__exit__()
            self.begin()
            raise RuntimeError("no answer") from None

    def __exit__(self, *error):
        self.client.close()
        self.cluster.close()


WITHOUT_PROCESSES = "loky", "cluster", "dask-cluster"  # its workers wait for ever, dask's are daemons
ADAPTERS = {"dask": Dask, "dask-fork": Dask, "joblib": Joblib, "loky": Loky, "cpool": CPool,
            "cpool-copies": CPool, "cluster": Cluster, "dask-cluster": Cluster}


def Pool(count=1, copies=True, **options):
    """A new executor of this mode. copies: calls may write to their arguments, as in processes."""
    if MODE in PEERS:
        return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context(MODE), **options)
    if MODE == "thread":
        return ThreadPoolExecutor(count, **options)
    if MODE in ADAPTERS:
        return ADAPTERS[MODE](copies=copies, **options)
    import gorgon
    return gorgon.InterpreterPoolExecutor(count, copy_arguments=copies, template=TEMPLATE if MODE == "copies" else None, **options)


# --- steps --------------------------------------------------------------------------------------

step = None


def run_steps(steps, options):
    """Run functions of the main block, one after the other, with one executor. Each is (name,
    function, whether it asks for no more than calls)."""
    global step
    pool = None
    with contextlib.ExitStack() as stack:
        for name, function, is_plain in steps:
            step = name
            if MODE in ADAPTERS and not is_plain or MODE in WITHOUT_PROCESSES and name.endswith("processes of a worker"):
                continue
            show()  # what workers print is this step's
            pool = pool or stack.enter_context(Pool(**options))
            try:
                function(pool, functools.partial(ask, pool))
            except BaseException as error:
                show("raised", error)
        step = "end"
    show("end")


def ask(pool, function, /, *args, **kwargs):
    return pool.submit(function, *args, **kwargs).result(60)


def show(*values):
    texts = (value if type(value) is str else describe(value) for value in values)
    # Keys, and folders of workers and of this program, are of this run.
    print(f"{step}|", *(re.sub(rf"\bcall-\d+|/tmp/dask-scratch-space/[\w-]+|{re.escape(here())}\b", "HERE", text) for text in texts), flush=True)


def fails(function, *args, **kwargs):
    """What it returns, or the exception."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        return error


# --- descriptions -------------------------------------------------------------------------------

def describe_error(error, depth=3):
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    text = re.sub(r"0x[0-9a-f]+", "0x", f"{module}{kind.__qualname__}{error.args!r}")
    notes = getattr(error, "__notes__", None)
    if notes:
        text += f" notes {notes!r}"
    extra = {name: value for name, value in vars(error).items() if name != "__notes__"}
    if extra:
        text += f" {describe(extra)}"
    if isinstance(error, BaseExceptionGroup):
        text += f" of {[describe_error(each) for each in error.exceptions]}"
    cause = error.__cause__
    if cause and depth:
        is_remote = re.search("RemoteTraceback|ExecutionFailed", type(cause).__name__)
        text += " from there" if is_remote else f" from {describe_error(cause, depth - 1)}"
    return text


def trace(error):
    """Functions of programs that a remote traceback names, and its last line."""
    text = str(error.__cause__ or "".join(traceback.format_exception(error))).strip('" \n')
    names = re.findall(r'File ".*/(?:program|tasks)\.py[^"]*", line \d+, in (\w+)', text)
    return names, text.splitlines()[-1]


def describe_array(array, with_flags, seen):
    order = "".join(name[0] for name in ("C_CONTIGUOUS", "F_CONTIGUOUS") if array.flags[name])
    writes = "writable" if array.flags.writeable else "read-only"
    items = array.tolist()
    if array.dtype.hasobject:
        items = [describe(each, with_flags, seen) for each in array.ravel().tolist()[:12]]
    text = repr(items) if array.size <= 12 else f"{array.size} items, {hash_of(array)}"
    dtype = array.dtype.descr if array.dtype.names else array.dtype.str
    flags = f"order={order} {writes if with_flags else ''}"
    return f"{type(array).__name__}({dtype} {array.shape} {flags} {text})"


def hash_of(value):
    import zlib
    return zlib.crc32(value if isinstance(value, (bytes, bytearray)) else value.tobytes())


def describe(value, with_flags=True, seen=()):
    """Text that says all of a value that a program can see of it, addresses apart. with_flags:
    whether arrays can be written to."""
    if id(value) in seen:
        return f"<{len(seen) - seen.index(id(value))} up>"
    module = type(value).__module__.partition(".")[0]
    inner = functools.partial(describe, with_flags=with_flags, seen=(*seen, id(value)))
    if isinstance(value, BaseException):
        return describe_error(value)
    if module == "numpy" and hasattr(value, "dtype"):
        if type(value).__name__ == "MaskedArray":
            return f"masked({inner(value.data)} {inner(value.mask)} {value.fill_value!r})"
        if not value.shape and type(value).__name__ != "ndarray":
            return f"{type(value).__name__}({value!r})"
        return describe_array(value, with_flags, (*seen, id(value)))
    if module == "pandas" and hasattr(value, "dtypes"):
        columns = value.items() if value.ndim == 2 else [(value.name, value)]
        parts = [f"{name!r}: {each.dtype} {list(each)!r}" for name, each in columns]
        index = f"{list(value.index)!r} {value.index.dtype}"
        return f"{type(value).__name__}({index} {' '.join(parts)} {value.attrs!r})"
    if module == "scipy" and hasattr(value, "tocoo"):
        return f"{type(value).__name__}({value.dtype} {value.shape} {value.toarray().tolist()!r})"
    if isinstance(value, memoryview):
        writes = not value.readonly if with_flags else ""
        return f"memoryview({value.format} {value.shape} {value.tobytes()[:40]!r} {writes})"
    if type(value) in (list, tuple, set, frozenset):
        items = [*map(inner, value)]
        if isinstance(value, (set, frozenset)):
            items.sort()
        return f"{type(value).__name__}({', '.join(items)})"
    if isinstance(value, dict):
        items = ", ".join(f"{inner(key)}: {inner(each)}" for key, each in value.items())
        return f"{type(value).__name__}({items})"
    if isinstance(value, (bytes, bytearray)) and len(value) > 40:
        return f"{type(value).__name__}({len(value)} {hash_of(value)})"
    if isinstance(value, type) or callable(value) and hasattr(value, "__qualname__"):
        return f"<{value.__module__.replace('__mp_main__', '__main__')}.{value.__qualname__}>"
    if hasattr(value, "__dict__") and type(value).__repr__ is object.__repr__:
        return f"{type(value).__qualname__}({inner(vars(value))})"
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value)).replace("__mp_main__", "__main__")


def change(value, by=1):
    """Change a value in place, in a way that shows. Says why it cannot be."""
    try:
        return change_it(value, by)
    except (ValueError, TypeError, BufferError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"


def change_it(value, by):
    module = type(value).__module__.partition(".")[0]
    if module == "numpy" and hasattr(value, "flat"):
        if value.size == 0:
            return "empty"
        if value.dtype.names:
            name = value.dtype.names[0]
            value[name].flat[0] = by
        elif value.dtype.kind in "OSUMmV?":
            value.flat[0] = value.flat[-1]
        else:
            value.flat[0] = by * 7 % 100
    elif module == "pandas":
        if value.ndim == 2:
            value.iloc[0, 0] = value.iloc[-1, 0]
            value[f"new{by}"] = by
        else:
            value.iloc[0] = value.iloc[-1]
    elif module == "scipy":
        value.data[:] = by
    elif isinstance(value, (bytearray, memoryview)):
        value[0] = by
    elif isinstance(value, list):
        value.append(by)
        for each in itertools.islice(value, 3):
            change(each, by)
    elif isinstance(value, tuple):
        for each in value[:3]:
            change(each, by)
    elif isinstance(value, dict):
        for each in list(value.values())[:3]:
            change(each, by)
        value[f"changed{by}"] = by
    elif isinstance(value, set):
        value.add(by)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for each in list(vars(value).values())[:3]:
            change(each, by)
        value.changed = by
    else:
        return "cannot"
    return "changed"


def here():
    """This program's folder."""
    return os.path.dirname(os.path.abspath(sys.argv[0]))
