# packages: python3-nss
import nss.error
import nss.nss

nss.nss.nss_init_nodb()
assert nss.nss.nss_is_initialized()
digest = nss.nss.sha256_digest(b"abc")
assert digest.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
try:
    nss.nss.Certificate(b"garbage")
except nss.error.NSPRError as error:
    assert "SEC_ERROR" in str(error), error
else:
    raise AssertionError("a certificate out of garbage")
nss.nss.nss_shutdown()
