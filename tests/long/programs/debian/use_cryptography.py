# packages: python3-cryptography
import datetime

from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

key = Fernet.generate_key()
assert Fernet(key).decrypt(Fernet(key).encrypt(b"text")) == b"text"
private = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gorgon")])
day = datetime.datetime(2026, 11, 22)
builder = x509.CertificateBuilder(name, name, private.public_key(), 7, day, day + datetime.timedelta(1))
certificate = builder.sign(private, hashes.SHA256())
again = x509.load_der_x509_certificate(certificate.public_bytes(serialization.Encoding.DER))
assert again == certificate and again.serial_number == 7 and again.subject.rfc4514_string() == "CN=gorgon"
private.public_key().verify(again.signature, again.tbs_certificate_bytes, ec.ECDSA(hashes.SHA256()))
assert len(ed25519.Ed25519PrivateKey.generate().sign(b"x")) == 64
try:
    AESGCM(bytes(16)).decrypt(bytes(12), bytes(32), None)
except InvalidTag:
    pass
else:
    raise AssertionError("decrypted noise")
try:
    x509.load_pem_x509_certificate(b"nonsense")
except ValueError as error:
    assert "PEM" in str(error), error
else:
    raise AssertionError("a certificate out of nonsense")
