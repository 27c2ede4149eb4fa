# packages: python3-pyrsistent
import pvectorc
import pyrsistent

assert pyrsistent.pvector is pvectorc.pvector
vector = pyrsistent.pvector(range(1000))
changed = vector.set(500, "x").append("y")
assert vector[500] == 500 and changed[500] == "x" and len(changed) == 1001 and vector[-1] == 999
evolver = vector.evolver()
evolver.extend([1, 2])
assert len(evolver.persistent()) == 1002
try:
    vector[1000]
except IndexError:
    pass
else:
    raise AssertionError("behind the end")
