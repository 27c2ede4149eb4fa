# packages: safetensors
import numpy
from safetensors import SafetensorError
from safetensors.numpy import load, save

found = load(save({"a": numpy.arange(6.0).reshape(2, 3)}))
assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
try:
    load(b"\1\0\0\0")
except SafetensorError:
    pass
else:
    raise AssertionError("half a header was accepted")
