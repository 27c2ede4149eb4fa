# packages: python3-bitarray
import pickle

from bitarray import bitarray
from bitarray.util import ba2int, huffman_code

bits = bitarray("1011")
assert ba2int(bits * 2) == 0xBB and (bits ^ bitarray("0011")).to01() == "1000"
code = huffman_code({"a": 5, "b": 2, "c": 1})
packed = bitarray()
packed.encode(code, "abacab")
assert "".join(packed.decode(code)) == "abacab"
assert pickle.loads(pickle.dumps(bits)) == bits
try:
    bits[9]
    raise AssertionError("no exception")
except IndexError:
    pass
