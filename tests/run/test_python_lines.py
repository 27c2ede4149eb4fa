# SPDX-License-Identifier: MIT
"""Programs under `gorgon run --python-lines=on` do what they do without it; code objects that mean harm do none."""

import os
import unittest

import harness

PROGRAM = r"""
import asyncio, collections, os, sys, threading, time

def daemon():
    while True:
        time.sleep(0.001)

for _ in range(3):
    threading.Thread(target=daemon, daemon=True).start()

def generator():
    try:
        yield 1
    except ValueError as error:
        yield str(error)

g = generator()
next(g)
assert g.throw(ValueError("thrown")) == "thrown"
g.close()

def deep(n):
    return n and 1 + deep(n - 1)

assert deep(500) == 500
try:
    deep(10000)
except RecursionError:
    pass
else:
    raise AssertionError("no end")

async def one():
    await asyncio.sleep(0)
    return 1

assert asyncio.run(one()) == 1
exec(compile("def q():\n    return 7\n", __file__, "exec"))
assert q() == 7
assert collections.namedtuple("P", "a b")(1, 2).b == 2
pid = os.fork()
if not pid:
    os._exit(3 if deep(10) == 10 else 4)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
seen = []
def tracer(frame, event, arg):
    seen.append(event)
    return tracer
sys.settrace(tracer)
deep(2)
sys.settrace(None)
assert seen.count("call") == 3, seen

# Hostile code objects, in a file that exists.
code = compile("def f(a, b):\n    return [a for a in b]\nx = f(1, [2])\n", __file__, "exec")
bad = [code.replace(co_firstlineno=n) for n in (0, 1, 2**31 - 1)]
bad += [code.replace(co_linetable=bytes([k, *range(128, 128 + k % 64), 0, 255])) for k in range(0, 256, 5)]
bad += [code.replace(co_linetable=b""), code.replace(co_name="a\nb\x01" * 1000), code.replace(co_qualname="\udcff" * 10)]
nest = code
for _ in range(200):
    nest = code.replace(co_consts=(nest, *code.co_consts[1:]))
bad += [code.replace(co_consts=(*code.co_consts, nest))]
bad += [code.replace(co_filename=name) for name in ("", "\0", "/", "/proc/self/mem", "\udcff", "x" * 5000, __file__ + "/..")]
for each in bad:
    try:
        exec(each, {})
    except Exception as error:
        print("refused by CPython", type(error).__name__, file=sys.stderr)
print("fine")
"""


@harness.needs_python_lines
class Programs(unittest.TestCase):
    def test_the_same(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(PROGRAM)
            for mode in ("off", "on", "auto"):
                with self.subTest(mode=mode):
                    done = harness.run(harness.GORGON, "run", "-n", 3, f"--python-lines={mode}", f"--python={harness.PYTHON}", "-W", "ignore", path)
                    self.assertEqual([done.returncode, done.stdout], [0, 3 * "fine\n"], done.stderr)


class Refused(unittest.TestCase):
    def test_word(self):
        done = harness.run(harness.GORGON, "run", "--python-lines=maybe", "-c", "")
        self.assertIn("--python-lines maybe: expected auto, on, all or off", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_isolation(self):
        done = harness.run(harness.GORGON, "run", "--python-lines=on", "--isolate=copy", "-c", "print('ran')")
        self.assertRegex(done.stderr, "python_lines: (not with isolation by copy, only by the loader|CPython 3)")
        self.assertEqual(done.stdout, "")
        done = harness.run(harness.GORGON, "run", "--python-lines=auto", "--isolate=copy", "-c", "print('ran')")
        self.assertEqual(["ran\n", ""], [done.stdout, done.stderr])


if __name__ == "__main__":
    unittest.main()
