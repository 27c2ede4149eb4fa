# packages: python3-zodbpickle
import io

from zodbpickle import _pickle, binary

value = {"a": [1, 2.5, None], "b": binary(b"\x00\xff")}
buffer = io.BytesIO()
pickler = _pickle.Pickler(buffer, 3)
pickler.persistent_id = lambda thing: "id" if thing is len else None
pickler.dump([value, len])
buffer.seek(0)
unpickler = _pickle.Unpickler(buffer)
unpickler.persistent_load = lambda name: name
assert unpickler.load() == [value, "id"]
