# packages: protobuf
from google.protobuf import json_format, struct_pb2
from google.protobuf.internal import api_implementation

assert api_implementation.Type() == "upb"
value = struct_pb2.Struct()
value.update({"a": [1, {"b": "x"}], "c": None})
assert struct_pb2.Struct.FromString(value.SerializeToString()) == value
assert json_format.MessageToDict(value) == {"a": [1.0, {"b": "x"}], "c": None}
