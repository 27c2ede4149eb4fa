# packages: python3-jsonnet
import json

import _jsonnet

text = _jsonnet.evaluate_snippet("s", "local f(x) = x * 2; {a: f(21), b: std.native('cat')('x', 'y')}",
                                 native_callbacks={"cat": (("x", "y"), lambda x, y: x + "-" + y)})
assert json.loads(text) == {"a": 42, "b": "x-y"}
try:
    _jsonnet.evaluate_snippet("s", "error 'no'")
    raise AssertionError("no exception")
except RuntimeError as error:
    assert "RUNTIME ERROR: no" in str(error)
