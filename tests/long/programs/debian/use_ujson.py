# packages: python3-ujson
import ujson

value = {"a": [1, 2.5, None], "b": "\u00fc"}
assert ujson.loads(ujson.dumps(value)) == value and ujson.dumps("\u00fc/") == '"\\u00fc\\/"'
try:
    ujson.loads("[1,")
except ValueError:
    pass
else:
    raise AssertionError("parsed half a list")
