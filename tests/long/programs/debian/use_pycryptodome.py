# packages: python3-pycryptodome
from Cryptodome.Cipher import AES, ChaCha20_Poly1305
from Cryptodome.Hash import BLAKE2b, SHA256
from Cryptodome.PublicKey import ECC, RSA
from Cryptodome.Signature import DSS

# FIPS 197, C.1
cipher = AES.new(bytes(range(16)), AES.MODE_ECB)
assert cipher.encrypt(bytes.fromhex("00112233445566778899aabbccddeeff")).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
assert SHA256.new(b"abc").hexdigest().startswith("ba7816bf") and len(BLAKE2b.new(data=b"x").digest()) == 64
sealed, tag = ChaCha20_Poly1305.new(key=bytes(32), nonce=bytes(12)).encrypt_and_digest(b"text")
try:
    ChaCha20_Poly1305.new(key=bytes(32), nonce=bytes(12)).decrypt_and_verify(sealed, bytes(16))
except ValueError as error:
    assert "MAC" in str(error), error
else:
    raise AssertionError("a wrong tag passed")
key = ECC.generate(curve="P-256")
signature = DSS.new(key, "fips-186-3").sign(SHA256.new(b"text"))
DSS.new(key.public_key(), "fips-186-3").verify(SHA256.new(b"text"), signature)
assert RSA.construct((3233, 17)).size_in_bits() == 12
