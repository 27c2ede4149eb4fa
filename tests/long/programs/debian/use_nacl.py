# packages: python3-nacl
import nacl.exceptions
import nacl.pwhash
import nacl.secret
import nacl.signing

box = nacl.secret.SecretBox(bytes(32))
sealed = box.encrypt(b"text", bytes(24))
assert box.decrypt(sealed) == b"text"
try:
    box.decrypt(bytes(len(sealed)))
except nacl.exceptions.CryptoError:
    pass
else:
    raise AssertionError("decrypted noise")
# RFC 8032, 7.1, test 1
key = nacl.signing.SigningKey(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
assert key.verify_key.encode().hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
assert key.sign(b"").signature.hex().startswith("e5564300c360ac729086e2cc806e828a")
hashed = nacl.pwhash.argon2id.kdf(16, b"password", bytes(16), opslimit=1, memlimit=8192)
assert hashed == nacl.pwhash.argon2id.kdf(16, b"password", bytes(16), opslimit=1, memlimit=8192) != bytes(16)
