# packages: python3-cffi gcc libc6-dev libpython3.11-dev
import importlib.util
import subprocess
import sysconfig
import tempfile
import threading

import cffi

ffi = cffi.FFI()
ffi.cdef("int twice(int); extern \"Python\" int back(int); int call(int); struct pair { int a; double b; };")
ffi.set_source("_heads", "static int twice(int x) { return 2 * x; } static int back(int);"
               "static int call(int x) { return back(x) + 1; } struct pair { int a; double b; };")
path = tempfile.mkdtemp(dir=".") + "/_heads"
ffi.emit_c_code(path + ".c")
flags = ["-I" + sysconfig.get_path("include"), "-shared", "-fPIC"]
subprocess.run(["gcc", *flags, path + ".c", "-o", path + ".so"], check=True)
spec = importlib.util.spec_from_file_location("_heads", path + ".so")
heads = importlib.util.module_from_spec(spec)
spec.loader.exec_module(heads)
heads.ffi.def_extern("back")(lambda x: 10 * x)
assert heads.lib.twice(21) == 42 and heads.lib.call(4) == 41 and heads.ffi.sizeof("struct pair") == 16
results = []
thread = threading.Thread(target=lambda: results.append(heads.lib.call(5)))
thread.start()
thread.join()
assert results == [51]
abi = cffi.FFI()
abi.cdef("void qsort(void *, size_t, size_t, int (*)(const void *, const void *)); size_t strlen(const char *);")
libc = abi.dlopen(None)
numbers = abi.new("int[]", [3, 1, 2])
order = abi.callback("int(const void *, const void *)", lambda a, b: abi.cast("int *", a)[0] - abi.cast("int *", b)[0])
libc.qsort(numbers, 3, 4, order)
assert list(numbers) == [1, 2, 3] and libc.strlen(b"gorgon") == 6
