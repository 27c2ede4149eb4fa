# packages: cryptography
from cryptography.exceptions import InvalidSignature
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

key = Fernet(Fernet.generate_key())
assert key.decrypt(key.encrypt(b"snakes")) == b"snakes"
private = ec.generate_private_key(ec.SECP256R1())
private.public_key().verify(private.sign(b"text", ec.ECDSA(hashes.SHA256())), b"text", ec.ECDSA(hashes.SHA256()))
other = ed25519.Ed25519PrivateKey.generate()
try:
    other.public_key().verify(other.sign(b"text"), b"test")
except InvalidSignature:
    pass
else:
    raise AssertionError("a wrong signature was accepted")
