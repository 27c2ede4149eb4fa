# packages: python3-zfec
import zfec

blocks = [b"gorgon..", b"medusa..", b"stheno.."]
shares = zfec.Encoder(3, 6).encode(blocks)
assert len(shares) == 6 and zfec.Decoder(3, 6).decode([shares[5], shares[1], shares[3]], [5, 1, 3]) == blocks
try:
    zfec.Decoder(3, 6).decode(shares[:2], [0, 1])
except zfec.Error:
    pass
else:
    raise AssertionError("decoded from two shares")
