# packages: orjson
import datetime
import numpy
import orjson

value = {"ä": [1, 2.5, None, True], "day": datetime.date(2026, 11, 22), "array": numpy.arange(3)}
text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
assert orjson.loads(text) == {"ä": [1, 2.5, None, True], "day": "2026-11-22", "array": [0, 1, 2]}
try:
    orjson.loads(b"[1,")
except orjson.JSONDecodeError:
    pass
else:
    raise AssertionError("half a list was accepted")
