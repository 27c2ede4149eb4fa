# packages: python3-protobuf
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message, message_factory, struct_pb2
from google.protobuf.internal import api_implementation

assert api_implementation.Type() == "cpp", api_implementation.Type()
file = descriptor_pb2.FileDescriptorProto(name="gorgon.proto", package="gorgon")
kind = file.message_type.add(name="Head")
kind.field.add(name="name", number=1, type=9, label=1)
kind.field.add(name="snakes", number=2, type=5, label=3)
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
Head = message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("gorgon.Head"))
head = Head(name="Medusa", snakes=[1, 2, 300])
encoded = head.SerializeToString()
assert encoded == b"\n\x06Medusa\x10\x01\x10\x02\x10\xac\x02" and Head.FromString(encoded) == head, encoded
assert json_format.MessageToDict(head) == {"name": "Medusa", "snakes": [1, 2, 300]}
struct = struct_pb2.Struct()
struct.update({"a": [1, {"b": None}]})
assert struct_pb2.Struct.FromString(struct.SerializeToString()) == struct
try:
    Head.FromString(b"\n\xff")
except message.DecodeError:
    pass
else:
    raise AssertionError("parsed garbage")
