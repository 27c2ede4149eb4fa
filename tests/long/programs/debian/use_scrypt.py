# packages: python3-scrypt
import scrypt

# RFC 7914, 12
assert scrypt.hash("password", "NaCl", N=1024, r=8, p=16, buflen=8).hex() == "fdbabe1c9d347200"
sealed = scrypt.encrypt("text", "password", maxtime=0.01, maxmem=1 << 22)
assert scrypt.decrypt(sealed, "password", maxtime=60, maxmem=1 << 26) == "text"
try:
    scrypt.decrypt(sealed, "other", maxtime=60, maxmem=1 << 26)
except scrypt.error as error:
    assert "password" in str(error), error
else:
    raise AssertionError("decrypted with another password")
