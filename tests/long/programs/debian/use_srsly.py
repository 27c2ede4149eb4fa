# packages: python3-srsly
import srsly

value = {"a": [1, 2.5, None], "b": "text"}
assert srsly.json_loads(srsly.json_dumps(value)) == value and srsly.msgpack_loads(srsly.msgpack_dumps(value)) == value
assert srsly.pickle_loads(srsly.pickle_dumps(value)) == value and srsly.yaml_loads(srsly.yaml_dumps(value)) == value
