# SPDX-License-Identifier: MIT
"""gorgon.share() and gorgon.receive(), and numpy's memory from the host, as programs see them."""

import os
import tempfile
import unittest

from harness import GORGON, PYTHON3, ROOT, SANITIZED, VENV_PYTHON, run

# What the programs below begin with. The error of a call by its type and text; numpy's functions by
# the names of either version; and what another interpreter shares, as soon as it does.
PRELUDE = """
import gorgon, time

def fails(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error.args[0]}"

def wait(name, **kwargs):
    while True:
        try:
            return gorgon.receive(name, **kwargs)
        except KeyError:
            time.sleep(0.001)

def barrier(name):
    gorgon.share(b"", f"{name} {gorgon.interpreter}", copy=True)
    for i in range(gorgon.count()):
        wait(f"{name} {i}")
"""

NUMPY = PRELUDE + """
import numpy
multiarray = (numpy._core if numpy.__version__[0] == "2" else numpy.core).multiarray
handler = multiarray.get_handler_name

def check(text, condition):
    assert condition, text
"""

ALONE = ("ValueError: the array's memory belongs to this interpreter alone: share a copy with copy=True, or call "
         "gorgon.use_data_handler() before numpy makes it")

# One copy of 256 MB in memory, looked at by all; interpreter 0 measures the process.
PARALLEL = NUMPY + """
MEGABYTE = 1 << 20

def pss():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("Pss:"))

me, count = gorgon.interpreter, gorgon.count()
barrier("loaded")
before = pss() if me == 0 else None
barrier("measured")
if me == 0:
    gorgon.use_data_handler()
    numbers = numpy.arange(256 * MEGABYTE // 8)
    gorgon.share(numbers, "numbers")
    del numbers
numbers = wait("numbers")
size = numbers.size // count
part = numbers[me * size:(me + 1) * size].sum()
gorgon.share(part, f"sum {me}", copy=True)
barrier("summed")
if me == 0:
    total = sum(int(wait(f"sum {i}")) for i in range(count))
    print(total == numbers.size * (numbers.size - 1) // 2, round((pss() - before) / 256, 1))
barrier("end")
"""

# Each interpreter shares, receives, drops and withdraws under names that all of them use.
RANDOM = NUMPY + """
import random
random.seed(gorgon.interpreter)
gorgon.use_data_handler()
barrier("start")
held, wrong, seen = [], 0, 0
for i in range(ROUNDS):
    name = f"any {random.randrange(20)}"
    a = numpy.full(random.randrange(1, 3000), i)
    fails(gorgon.share, a if random.random() < 0.8 else a[::3], name)
    try:
        b = gorgon.receive(name)
    except KeyError:
        continue
    seen += 1
    wrong += int(b.min() != b.max())
    held.append(b)
    if random.random() < 0.5:
        fails(gorgon.withdraw, name)
    if random.random() < 0.3:
        del held[:random.randrange(len(held))]
wrong += sum(int(b.min() != b.max()) for b in held)
print(wrong, seen > ROUNDS // 2)
barrier("end")
"""


class Program(unittest.TestCase):
    maxDiff = None

    def check(self, code, *lines, python=PYTHON3, count=1):
        result = run(GORGON, "run", "-n", count, "--python", python, "-c", code)
        self.assertEqual((result.stderr, result.stdout.splitlines(), result.returncode), ("", list(lines), 0))

    def check_both(self, code, *lines):
        """With numpy 1 and numpy 2."""
        for python in (PYTHON3, VENV_PYTHON):
            with self.subTest(python):
                self.check(code, *lines, python=python)


class Share(Program):
    def test_receivers_see_the_same_memory(self):
        self.check_both(NUMPY + """
gorgon.use_data_handler()
a = numpy.arange(12).reshape(3, 4)
gorgon.share(a, "a", writable=True)
b, c = gorgon.receive("a"), gorgon.receive("a", writable=True)
a[0, 0] = 100
c[2, 3] = 200
print(b[0, 0], b[2, 3], a[2, 3], type(b).__name__)
print(b.flags.writeable, c.flags.writeable, fails(b.setflags, write=True))
print(numpy.shares_memory(a, b))
del a
print(b.tolist())
""", "100 200 200 ndarray", "False True ValueError: cannot set WRITEABLE flag to True of this array", "True",
                        "[[100, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 200]]")

    def test_dtypes_shapes_and_strides_arrive(self):
        self.check_both(NUMPY + """
gorgon.use_data_handler()
base = numpy.arange(24.).reshape(2, 3, 4)
record = numpy.dtype([("x", "<i4"), ("at", [("y", ">f8"), ("z", "S3")]), ("v", "u2", (2,))])
arrays = [base, base.T, base[::-1, :, ::2], base[1, 1, 1:1], base[0, 0, 0, ...], numpy.broadcast_to(base[0, 0], (5, 4)),
          numpy.zeros((0, 3)), numpy.zeros(()), numpy.asfortranarray(base),
          numpy.array(["2020-02-29", "NaT"], "M8[ms]"), numpy.array([[1, -2]], ">m8[D]")[:, ::-1],
          numpy.array([b"abc", b"de"]), numpy.array(["\\u00e9t\\u00e9", ""]), numpy.zeros(3, record),
          numpy.zeros(3, record)["at"]["y"]]
arrays += [numpy.arange(5).astype(code) for code in "?bBhHiIlLqQefdgFDG"]
arrays += [numpy.arange(5).astype(">" + code) for code in ("i2", "u8", "f4", "c16")]
for i, a in enumerate(arrays):
    for copy in (False, True):
        gorgon.share(a, "a", copy=copy)
        b = gorgon.receive("a")
        check(a.dtype, (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes())
        check(a.dtype, a.strides == b.strides or copy or not a.size)
        check(a.dtype, numpy.shares_memory(a, b) == (not copy and a.size > 0))
        gorgon.withdraw("a")
print(len(arrays))
""", "37")

    def test_what_is_the_interpreters_is_copied_when_asked_to(self):
        self.check_both(NUMPY + """
import array
from numpy.lib.stride_tricks import as_strided
things = [b"bytes", bytearray(b"bytes"), memoryview(b"bytes"), array.array("d", [1, 2]), numpy.arange(3),
          numpy.arange(3)[::-1], numpy.frombuffer(b"bytes", "u1")]
for thing in things:
    print(fails(gorgon.share, thing, "thing"))
    gorgon.share(thing, "thing", copy=True)
    print(type(thing).__name__, gorgon.receive("thing").tolist(), gorgon.receive("thing").dtype)
    gorgon.withdraw("thing")
gorgon.share(things[1], "snapshot", copy=True)
things[1][0] = 0
print(gorgon.receive("snapshot")[0])
gorgon.use_data_handler()
foreign = as_strided(numpy.arange(4), (8,))
print(fails(gorgon.share, foreign, "foreign"))
""", ALONE, "bytes [98, 121, 116, 101, 115] uint8", ALONE, "bytearray [98, 121, 116, 101, 115] uint8",
                        ALONE, "memoryview [98, 121, 116, 101, 115] uint8", ALONE, "array [1.0, 2.0] float64",
                        ALONE, "ndarray [0, 1, 2] int64", ALONE, "ndarray [2, 1, 0] int64",
                        ALONE, "ndarray [98, 121, 116, 101, 115] uint8", "98",
                        "ValueError: array: its items are not all inside its memory of 32 bytes")

    def test_what_was_received_is_shared_again(self):
        self.check_both(NUMPY + """
gorgon.share(bytes(range(10)), "a", copy=True, writable=True)
read, write = gorgon.receive("a"), gorgon.receive("a", writable=True)
gorgon.share(read[2:], "b")
gorgon.share(memoryview(write)[::2], "c", writable=True)
print(fails(gorgon.share, read, "d", writable=True))
gorgon.withdraw("a")
del read, write
gorgon.receive("c", writable=True)[1] = 200
print(gorgon.receive("b").tolist(), gorgon.receive("c").tolist())
""", "ValueError: the array is read-only and cannot be shared with writable=True",
                        "[200, 3, 4, 5, 6, 7, 8, 9] [0, 200, 4, 6, 8]")

    def test_refusals_say_why(self):
        self.check_both(NUMPY + """
objects = numpy.array([None, 1])
record = numpy.zeros(2, [("name", object), ("x", float)])
print(fails(gorgon.share, objects, "o", copy=True))
print(fails(gorgon.share, record, "o", copy=True))
print(fails(gorgon.share, [1, 2], "o", copy=True))
print(fails(gorgon.receive, "o"))
print(fails(gorgon.withdraw, "o"))
gorgon.share(b"1", "taken", copy=True)
print(fails(gorgon.share, b"2", "taken", copy=True))
print(fails(gorgon.receive, "taken", writable=True))
print(fails(gorgon.receive, 5))
print(gorgon.receive("taken").tobytes())
""", *["TypeError: an array of Python objects cannot be shared: objects belong to one interpreter"] * 2,
                        "TypeError: a bytes-like object is required, not 'list'",
                        *['KeyError: array "o": nobody has shared it'] * 2,
                        'ValueError: array "taken": the name is taken, withdraw it first',
                        'PermissionError: array "taken": was not shared with writable=True',
                        "TypeError: receive() argument 1 must be str, not int", "b'1'")

    def test_without_numpy_a_memoryview_is_received(self):
        with tempfile.TemporaryDirectory() as folder:
            run(PYTHON3, "-m", "venv", "--without-pip", folder).check_returncode()
            self.check(PRELUDE + """
import array, ctypes
gorgon.share(array.array("i", [1, 2, 3]), "a", copy=True, writable=True)
view = gorgon.receive("a", writable=True)
view[1] = 20
print(type(view).__name__, view.format, gorgon.receive("a").tolist(), gorgon.receive("a").readonly)
print(type(view.obj).__name__, fails(type(view.obj)))
print(fails(ctypes.c_char.from_buffer, gorgon.receive("a")))
gorgon.share(view[::2], "b")
print(gorgon.receive("b").tolist(), bytes(gorgon.receive("b")) == bytes(view[::2]))
print(fails(gorgon.use_data_handler))
""", "memoryview i [1, 20, 3] True", "Array TypeError: cannot create 'gorgon.Array' instances",
                       "TypeError: underlying buffer is not writable", "[1, 3] True",
                       "ModuleNotFoundError: No module named 'numpy'",
                       python=os.path.join(folder, "bin", "python"))

    def test_four_interpreters_sum_one_array(self):
        result = run(GORGON, "run", "-n", "4", "-c", PARALLEL)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        right, ratio = result.stdout.split()
        self.assertEqual(right, "True")
        if not SANITIZED:  # a sanitizer's runtime grows, too
            self.assertGreaterEqual(float(ratio), 1.0)
            self.assertLessEqual(float(ratio), 1.2)

    def test_interpreters_share_at_random(self):
        rounds = "ROUNDS = 2500\n"
        self.check(rounds + RANDOM, *["0 True"] * 4, count=4)
        self.check(rounds + RANDOM, *["0 True"] * 4, count=4, python=VENV_PYTHON)

    @unittest.skipIf(SANITIZED, "a sanitizer's runtime does not survive a fork among threads")
    def test_forked_children_share_and_receive(self):
        self.check(NUMPY + """
import os
gorgon.use_data_handler()
a = numpy.arange(1000)
if gorgon.interpreter == 0:
    gorgon.share(a, "a")
    statuses = []
    for i in range(100):
        pid = os.fork()
        if not pid:
            gorgon.share(gorgon.receive("a") + a, "sum", copy=True)
            os._exit(int(gorgon.receive("sum").sum() != 999000))
        statuses.append(os.waitpid(pid, 0)[1])
    gorgon.share(a, "stop")
    print(len(statuses), set(statuses))
else:
    while fails(gorgon.receive, "stop"):
        b = a + 1
        gorgon.share(b, f"mine {gorgon.interpreter}")
        gorgon.withdraw(f"mine {gorgon.interpreter}")
""", "100 {0}", count=3)


class Libraries(Program):
    """Memory that other libraries look at, by DLPack or by its address."""

    TENSOR = NUMPY + """
class Tensor:
    def __init__(self, a, device=(1, 0)):
        self.a, self.device = a, device
    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__(**kwargs)
    def __dlpack_device__(self):
        return self.device
gorgon.use_data_handler()
"""

    def test_tensors_are_received_and_shared(self):
        self.check_both(self.TENSOR + """
base = numpy.arange(24.).reshape(2, 3, 4)
arrays = [base, base.T, base[::-1, :, ::2], base[1, 1, 1:], base[0, 0, 0, ...], numpy.zeros((0, 3))]
arrays += [numpy.arange(5).astype(code) for code in "bBhHiIlLqQefdFD"]
for a in arrays:
    gorgon.share(a, "a", writable=True)
    b = numpy.from_dlpack(gorgon.receive("a", writable=True, plain=True))
    check(a.dtype, (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes())
    check(a.dtype, numpy.shares_memory(a, b) == (a.size > 0))
    gorgon.withdraw("a")
    for copy in (False, True):
        gorgon.share(Tensor(a), "b", copy=copy, writable=True)
        c = gorgon.receive("b", writable=True)
        check(a.dtype, (a.dtype, a.shape) == (c.dtype, c.shape) and a.tobytes() == c.tobytes())
        check(a.dtype, numpy.shares_memory(a, c) == (not copy and a.size > 0))
        gorgon.withdraw("b")
print(len(arrays), gorgon.receive.__name__)
""", "21 receive")

    def test_tensors_hold_and_let_go(self):
        self.check_both(self.TENSOR + """
gorgon.share(bytes(8), "a", copy=True, writable=True)
plain = gorgon.receive("a", writable=True, plain=True)
unused = [plain.__dlpack__(), plain.__dlpack__(max_version=(1, 0)), plain.__dlpack__(max_version=(0, 8))]
print([repr(capsule).split('"')[1] for capsule in unused], plain.__dlpack_device__())
b = numpy.from_dlpack(plain)
memoryview(plain)[:] = b"\\7" * 8
gorgon.withdraw("a")
del plain, unused
print(b.tolist(), b.dtype)
""", "['dltensor', 'dltensor_versioned', 'dltensor'] (1, 0)", "[7, 7, 7, 7, 7, 7, 7, 7] uint8")

    def test_refusals_say_why(self):
        self.check_both(self.TENSOR + """
gorgon.share(numpy.arange(3), "read")
gorgon.share(numpy.array(["2020-02-29"], "M8[D]"), "dates", writable=True)
gorgon.share(numpy.zeros(3, "i1,f8")["f1"], "gaps", writable=True)
gorgon.share(numpy.zeros(3, ">i4"), "swapped", writable=True)
print(fails(gorgon.receive("read", plain=True).__dlpack__))
for name in ("dates", "gaps", "swapped"):
    print(fails(gorgon.receive(name, writable=True, plain=True).__dlpack__))
plain = gorgon.receive("read", plain=True)
print(fails(plain.__dlpack__, stream=1), fails(plain.__dlpack__, dl_device=(2, 0)), fails(plain.__dlpack__, copy=True),
      sep="; ")
gorgon.use_data_handler(None)
print(fails(gorgon.share, Tensor(numpy.arange(3)), "own"))
class Odd:
    def __dlpack__(self):
        return 5
print(fails(gorgon.share, Odd(), "odd"))
""", "BufferError: the array was received read-only, which this DLPack cannot say",
                        *["BufferError: the array's items or strides have no name in DLPack"] * 3,
                        "BufferError: the array is in memory of the CPU, which has no streams; BufferError: the array "
                        "is in memory of the CPU, and is not moved; BufferError: the array is not copied", ALONE,
                        "ValueError: PyCapsule_GetPointer called with invalid PyCapsule object")

    def test_memory_is_found_by_its_address(self):
        """A library may have made an object of its own of the address, which knows nothing of numpy."""
        self.check_both(NUMPY + """
import ctypes
gorgon.use_data_handler()
a = numpy.arange(10.)
gorgon.share((ctypes.c_double * 4).from_address(a.ctypes.data + 16), "a", writable=True)
b = gorgon.receive("a", writable=True)
b[0] = 20
print(a[2], b.tolist())
del a
gorgon.share((ctypes.c_double * 2).from_address(b.ctypes.data + 8), "b")
print(gorgon.receive("b").tolist())
print(fails(gorgon.share, (ctypes.c_double * 2)(), "c"))
""", "20.0 [20.0, 3.0, 4.0, 5.0]", "[3.0, 4.0]", ALONE)

    def test_torch_looks_at_the_same_memory(self):
        if run(PYTHON3, "-c", "import torch").returncode:
            self.skipTest("torch is not installed for /usr/bin/python3 (python3-torch)")
        self.check(NUMPY + """
import torch
gorgon.use_data_handler()
a = numpy.arange(6.).reshape(2, 3)
gorgon.share(a, "a", writable=True)
t = torch.from_numpy(gorgon.receive("a", writable=True))
t[0, 0] = 10
u = torch.from_dlpack(gorgon.receive("a", writable=True, plain=True))
u[1, 2] = 50
print(a.tolist(), t.T.shape)
gorgon.share(t.T, "t", writable=True)
b = gorgon.receive("t", writable=True)
b[0, 1] = 30
print(a[1, 0], numpy.shares_memory(a, b), b.dtype)
gorgon.share(torch.ones(3, dtype=torch.int32), "own", copy=True)
print(gorgon.receive("own").tolist(), fails(gorgon.share, torch.ones(3, dtype=torch.bfloat16), "x"))
""", "[[10.0, 1.0, 2.0], [3.0, 4.0, 50.0]] torch.Size([3, 2])", "30.0 True float64",
                   "[1, 1, 1] BufferError: the tensor's items or dimensions have no name in the array interface")


class DataHandler(Program):
    """gorgon.use_data_handler(): what NEP 49 asks of a handler."""

    def test_name_and_version_are_visible(self):
        self.check_both(NUMPY + """
print(handler(), gorgon.use_data_handler() is not None, handler(), multiarray.get_handler_version())
print(handler(numpy.ones(3)), handler(numpy.ones(3)[1:]))
""", "default_allocator True gorgon 1", "gorgon None")

    def test_lifetimes_mix_and_default_comes_back(self):
        self.check_both(NUMPY + """
old = numpy.arange(1000)
default = gorgon.use_data_handler()
ours = numpy.arange(1000)
gorgon.use_data_handler(default)
print(handler(), handler(old), handler(ours), handler(ours + 1))
gorgon.use_data_handler()
both = old + ours
print(handler(), handler(both), int(both.sum()))
mine = gorgon.use_data_handler(None)
print(handler(), handler(numpy.ones(1)))
del old, ours
gorgon.use_data_handler(mine)
print(handler(), int(both[-1]), fails(gorgon.use_data_handler, 5))
""", "default_allocator default_allocator gorgon default_allocator", "gorgon gorgon 999000",
                        "default_allocator default_allocator",
                        "gorgon 1998 TypeError: use_data_handler(): not a handler of numpy's, expected one that it "
                        "returned or None")

    def test_contexts_have_their_own(self):
        self.check_both(NUMPY + """
import contextvars, threading
gorgon.use_data_handler()
def show():
    print(handler(), handler(numpy.ones(3)))
def run(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()
run(show)
run(contextvars.copy_context().run, show)
contextvars.copy_context().run(gorgon.use_data_handler, None)
show()
""", "default_allocator default_allocator", "gorgon gorgon", "gorgon gorgon")

    def test_memory_is_aligned_zeroed_and_resized(self):
        self.check_both(NUMPY + """
gorgon.use_data_handler()
sizes = (0, 1, 7, 8, 9, 1000, 100000, 3000000)
print([numpy.empty(n, "u1").ctypes.data % 64 for n in sizes])
print([int(numpy.zeros(n, "u1").sum()) for n in sizes])
print([numpy.zeros(shape).shape for shape in ((0,), (3, 0), (0, 3), ())])
a = numpy.arange(10)
for n in (0, 5, 100000, 1000000, 3, 7):
    a.resize(n, refcheck=False)
    print(a.ctypes.data % 64, a[:4].tolist(), handler(a))
print(numpy.fromiter((i for i in range(100000)), int).sum())
try:
    numpy.zeros((1 << 63) - 50, "u1")
except MemoryError:
    print("no memory")
""", "[0, 0, 0, 0, 0, 0, 0, 0]", "[0, 0, 0, 0, 0, 0, 0, 0]", "[(0,), (3, 0), (0, 3), ()]", "0 [] gorgon",
                        *["0 [0, 0, 0, 0] gorgon"] * 3, "0 [0, 0, 0] gorgon", "0 [0, 0, 0, 0] gorgon",
                        "4999950000", "no memory")

    def test_small_memory_is_used_again_but_for_what_others_hold(self):
        self.check_both(NUMPY + """
gorgon.use_data_handler()
a = numpy.full(10, 7.0)
place = a.ctypes.data
del a
b = numpy.zeros(16)  # of the same size in steps of 64 bytes
print(b.ctypes.data == place, float(b.sum()), b.nbytes)
del b
c = numpy.full(9, 3.0)
print(c.ctypes.data == place)
gorgon.share(c, "c")
received = gorgon.receive("c")
gorgon.withdraw("c")
del c
others = [numpy.full(9, float(i)) for i in range(50)]
print(place in [o.ctypes.data for o in others], received.tolist() == [3.0] * 9)
del others, received
grown = [numpy.arange(n) for n in range(1, 200)]
for n, array in enumerate(grown):
    array.resize(n % 40, refcheck=False)
del grown
print(all(numpy.arange(n).sum() == n * (n - 1) // 2 for n in range(300) for again in range(20)))
""", "True 0.0 128", "True", "False True", "True")

    def test_threads_without_the_gil_get_memory_of_their_own(self):
        """NEP 49 does not say that the functions of a handler are called with the GIL, and ctypes calls them without."""
        self.check_both(NUMPY + """
import ctypes, threading
gorgon.use_data_handler()
capsule = gorgon.use_data_handler()  # ours, as what was used before
class Handler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8)] + [
        (name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")]
address = ctypes.pythonapi.PyCapsule_GetPointer
address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
own = Handler.from_address(address(capsule, b"mem_handler"))
malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(own.malloc)
free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(own.free)
wrong = []
def work(mark):
    for i in range(1500):
        size = 8 + i % 7 * 64
        blocks = [malloc(own.ctx, size) for k in range(1 + i % 12)]
        for k, block in enumerate(blocks):
            ctypes.memset(block, mark * 16 + k, size)
        for k, block in enumerate(blocks):
            if ctypes.string_at(block, size) != bytes([mark * 16 + k]) * size:
                wrong.append(size)
            free(own.ctx, block, size)
threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(own.name, wrong)
""", "b'gorgon' []")

    @unittest.skipIf(SANITIZED, "the sanitizers' mlock() does nothing")
    def test_memory_is_placed_as_the_options_say(self):
        self.check_both(NUMPY + """
def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))
sizes = 0, 1, 10, 1000, 1 << 18
for alignment in 8, 64, 128, 4096, 1 << 21:
    gorgon.use_data_handler(alignment=alignment)
    arrays = [numpy.zeros(size) for size in sizes]
    print(alignment, {a.ctypes.data % alignment for a in arrays}, sum(a.sum() for a in arrays), handler(arrays[2]))
    arrays[4].resize(300000, refcheck=False)
    check("grown", arrays[4].ctypes.data % alignment == 0 and not arrays[4].any())
del arrays
gorgon.use_data_handler(huge_pages=True)
large, small = numpy.ones(1 << 19), numpy.ones(3)
print(large.ctypes.data % (1 << 21), small.ctypes.data % 64, large.sum())
gorgon.use_data_handler(locked=True)
locked = status("VmLck")
a = numpy.ones(10000)
check("locked", status("VmLck") - locked >= 78)
gorgon.share(a, "a")
del a
b = gorgon.receive("a")
gorgon.withdraw("a")
print(b.sum())
check("still locked", status("VmLck") - locked >= 78)
del b
check("not locked", status("VmLck") - locked < 78)
import ctypes
address = ctypes.pythonapi.PyCapsule_GetPointer
address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
capsules = [gorgon.use_data_handler(alignment=alignment) for alignment in (128, 256, 128, 128)][1:]
capsules.append(gorgon.use_data_handler())
first, other, *same = [address(capsule, b"mem_handler") for capsule in capsules]
print(first != other, [first == a for a in same])
""", *[f"{alignment} {{0}} 0.0 gorgon" for alignment in (8, 64, 128, 4096, 1 << 21)], "0 0 524288.0", "10000.0", "True [True, True]")

    def test_options_that_cannot_be_are_refused(self):
        self.check_both(NUMPY + """
use = gorgon.use_data_handler
own = use(), use()
for kwargs in {"alignment": 100}, {"alignment": -1}, {"alignment": 1 << 40}, {"numa_nodes": []}, {"numa_nodes": [64]}, \
        {"numa_nodes": [-1]}, {"numa_nodes": [63]}, {"handler": own[1], "locked": True}:
    print(fails(use, **kwargs))
print(handler(numpy.ones(1)))
""", *["ValueError: use_data_handler(): alignment: expected a power of two up to 2**30"] * 3,
                        *["ValueError: use_data_handler(): numa_nodes: expected numbers of nodes from 0 to 63"] * 3,
                        "ValueError: array: NUMA nodes 0x8000000000000000: none of them is a node that this process may use",
                        "TypeError: use_data_handler(): a handler has its options already: expected it alone, or options "
                        "alone", "gorgon")

    def test_resized_owner_leaves_receivers_the_old_memory(self):
        self.check_both(NUMPY + """
gorgon.use_data_handler()
a = numpy.arange(5)
gorgon.share(a, "a")
b = gorgon.receive("a")
a.resize(100000, refcheck=False)
a[:] = -1
print(b.tolist())
gorgon.withdraw("a")
a.resize(3, refcheck=False)
print(b.tolist(), a.tolist())
""", "[0, 1, 2, 3, 4]", "[0, 1, 2, 3, 4] [-1, -1, -1]")

    def test_handler_of_an_extension_works_beside_it(self):
        """A handler like that of NEP 49, with a header of 64 bytes before its memory; each interpreter has its own."""
        code = NUMPY + """
import aligned_handler
barrier("start")
default = aligned_handler.use()
old = numpy.arange(1000)
theirs = numpy.zeros(10)
aligned = gorgon.use_data_handler()
ours = old + 1
check("names", [handler(a) for a in (old, theirs, ours)] == ["aligned", "aligned", "gorgon"])
check("share", fails(gorgon.share, old, "x").startswith("ValueError: the array's memory belongs to this interpreter alone"))
gorgon.share(ours[::2], f"ours {gorgon.interpreter}", writable=True)
gorgon.share(old, f"old {gorgon.interpreter}", copy=True)
theirs.resize(1000, refcheck=False)
theirs += ours
gorgon.use_data_handler(aligned)
more = [old * i for i in range(5)] + [gorgon.receive(f"ours {gorgon.interpreter}").copy()]
ours.resize(3, refcheck=False)
check("names", {handler(a) for a in more} == {"aligned"} and handler(theirs) == "aligned" and handler(ours) == "gorgon")
print(int(theirs.sum()), ours.tolist(), int(more[5].sum()), aligned_handler.counts()[0])
del more, theirs
gorgon.use_data_handler(default)
other = (gorgon.interpreter + 1) % gorgon.count()
print(int(wait(f"ours {other}").sum()), int(wait(f"old {other}").sum()), handler(numpy.ones(3)))
del old
live, made, unknown = aligned_handler.counts()
print(live, made > 8, unknown)
barrier("end")
"""
        lines = ["500500 [1, 2, 3] 250000 8", "250000 499500 default_allocator", "0 True 0"]
        source = os.path.join(ROOT, "tests", "modules", "aligned_handler.c")
        for python in (PYTHON3, VENV_PYTHON):
            with self.subTest(python), tempfile.TemporaryDirectory() as folder:
                headers = run(python, "-c", "import numpy, sysconfig; print(numpy.get_include(), "
                              "sysconfig.get_path('include'))").stdout.split()
                compiled = run("gcc", "-shared", "-fPIC", "-O1", "-Wall", *[f"-I{header}" for header in headers],
                               source, "-o", os.path.join(folder, "aligned_handler.so"))
                self.assertEqual((compiled.stderr, compiled.returncode), ("", 0))
                result = run(GORGON, "run", "-n", "4", "--label", "--python", python, "-c", code,
                             env={"PYTHONPATH": folder})
                self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)
                for i in range(4):
                    self.assertEqual([line[4:] for line in result.stdout.splitlines() if line.startswith(f"[{i}] ")],
                                     lines)

    def test_numpy_s_own_handlers_work_beside_it(self):
        """numpy's tests build handlers as in NEP 49: 64 bytes before the data, checked in free()."""
        code = NUMPY + """
import pytest
class Ours:
    @pytest.fixture(autouse=True)
    def ours(self):
        default = gorgon.use_data_handler()
        yield
        check(handler(), handler() == "gorgon")
        gorgon.use_data_handler(default)
raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", "--pyargs", "-k", "not new_policy",
                              f"numpy.{'_core' if numpy.__version__[0] == '2' else 'core'}.tests.test_mem_policy"], plugins=[Ours()]))
"""  # new_policy would run many more of numpy's tests
        # The program runs in another folder, because pytest would read this project's settings in this one.
        result = run(GORGON, "run", "-c", code, env={"ASAN_OPTIONS": "detect_leaks=0", "PYTEST_ADDOPTS": ""},
                     cwd=tempfile.gettempdir())
        self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)
        self.assertRegex(result.stdout, r"\n9 passed, 1 deselected")
