# packages: python3-thrift
from thrift.protocol import TBinaryProtocol, TCompactProtocol, fastbinary
from thrift.Thrift import TType
from thrift.transport import TTransport


class Head:
    thrift_spec = (None, (1, TType.STRING, "name", "UTF8", None),
                   (2, TType.LIST, "snakes", (TType.I32, None, False), None))

    def __init__(self, name=None, snakes=None):
        self.name, self.snakes = name, snakes


for kind in (TBinaryProtocol.TBinaryProtocolAccelerated, TCompactProtocol.TCompactProtocolAccelerated):
    buffer = TTransport.TMemoryBuffer()
    encode = kind(buffer, fallback=False)
    buffer.write(encode._fast_encode(Head("Medusa", [1, 2, 300]), [Head, Head.thrift_spec]))
    decode = kind(TTransport.TMemoryBuffer(buffer.getvalue()), fallback=False)
    head = Head()
    decode._fast_decode(head, decode, [Head, Head.thrift_spec])
    assert head.name == "Medusa" and head.snakes == [1, 2, 300], head.__dict__
    assert fastbinary.__file__.endswith(".so")
