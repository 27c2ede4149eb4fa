# packages: python3-keyutils
import keyutils

assert keyutils.request_key(b"gorgon: no such key", keyutils.KEY_SPEC_THREAD_KEYRING) is None
key = keyutils.add_key(b"gorgon: a key", b"secret", keyutils.KEY_SPEC_THREAD_KEYRING)
assert keyutils.read_key(key) == b"secret"
keyutils.revoke(key)
try:
    keyutils.read_key(key)
    raise AssertionError("no exception")
except keyutils.Error as error:
    assert error.args[0] == keyutils.EKEYREVOKED
