# packages: python3-crcmod
import crcmod
from crcmod import _crcfunext  # noqa: F401

assert crcmod.predefined.mkCrcFun("crc-16")(b"123456789") == 0xBB3D
assert crcmod.mkCrcFun(0x104C11DB7, initCrc=0, xorOut=0xFFFFFFFF)(b"123456789") == 0xCBF43926
