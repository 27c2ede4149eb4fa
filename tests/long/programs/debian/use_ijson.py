# packages: python3-ijson
import io

import ijson
from ijson.backends import yajl2_c

text = io.BytesIO(b'{"a": [{"b": 1}, {"b": 2.5}], "c": null}')
assert [float(number) for number in yajl2_c.items(text, "a.item.b")] == [1.0, 2.5]
try:
    list(yajl2_c.items(io.BytesIO(b'{"a": [1, }'), "a.item"))
    raise AssertionError("no exception")
except ijson.common.JSONError:
    pass
