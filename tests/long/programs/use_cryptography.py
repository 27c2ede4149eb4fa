# SPDX-License-Identifier: MIT
"""cryptography (Rust, and OpenSSL through cffi): RSA signatures, X.509, authenticated encryption."""

import rounds

rounds.begin()

import datetime  # noqa: E402

from cryptography import x509  # noqa: E402
from cryptography.exceptions import InvalidSignature, InvalidTag  # noqa: E402
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: E402
from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: E402

key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH)
signature = key.sign(b"text", pss, hashes.SHA256())
key.public_key().verify(signature, b"text", pss, hashes.SHA256())
try:
    key.public_key().verify(signature, b"other", pss, hashes.SHA256())
    raise AssertionError("a wrong signature was accepted")
except InvalidSignature:
    pass

name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"interpreter {rounds.PLACE}")])
start = datetime.datetime(2020, 1, 1)
certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
               .serial_number(1000 + rounds.PLACE).not_valid_before(start)
               .not_valid_after(start + datetime.timedelta(days=1)).sign(key, hashes.SHA256()))
again = x509.load_pem_x509_certificate(certificate.public_bytes(serialization.Encoding.PEM))
assert again.subject == name and again.serial_number == 1000 + rounds.PLACE
again.public_key().verify(again.signature, again.tbs_certificate_bytes, padding.PKCS1v15(), hashes.SHA256())

cipher = AESGCM(bytes(16))
sealed = cipher.encrypt(bytes(12), b"secret", b"header")
assert cipher.decrypt(bytes(12), sealed, b"header") == b"secret"
try:
    cipher.decrypt(bytes(12), sealed, b"changed")
    raise AssertionError("a changed header was accepted")
except InvalidTag:
    pass
rounds.done()
