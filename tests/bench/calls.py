# SPDX-License-Identifier: MIT
"""Runs in an interpreter, and in python3: nanoseconds that each of some calls of the C library takes from a library, as JSON."""

import ctypes
import json
import sys
import threading

CALLS = [("allocate", 32), ("allocate", 4096), ("allocate", 1 << 20), ("hold", 32), ("hold", 4096), ("clear", 32),
         ("clear", 4096), ("resize", 32), ("resize", 4096), ("lock", 0), ("post", 0)]

threading.Thread(target=int).start()  # with a second thread the C library's locks are real ones
library = ctypes.CDLL(sys.argv[1])
results = {}
for name, size in CALLS:
    function = getattr(library, name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_size_t, ctypes.c_long]
    results[f"{name} {size}"] = min(function(size, 20000 if size >= 1 << 20 else 200000) for _ in range(5))
print(json.dumps(results))
