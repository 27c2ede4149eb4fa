# packages: python3-simplejson
import decimal

import simplejson
from simplejson import _speedups

assert simplejson.encoder.c_make_encoder is _speedups.make_encoder
value = {"a": [1, None, "\u00fc\n"], "b": decimal.Decimal("1.10")}
assert simplejson.dumps(value) == '{"a": [1, null, "\\u00fc\\n"], "b": 1.10}'
assert simplejson.loads("[1.10]", use_decimal=True) == [decimal.Decimal("1.10")]
try:
    simplejson.loads("[1,")
except simplejson.JSONDecodeError as error:
    assert error.pos == 3, error.pos
else:
    raise AssertionError("parsed half a list")
