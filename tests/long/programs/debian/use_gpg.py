# packages: python3-gpg gnupg
import os
import tempfile

import gpg

folder = tempfile.mkdtemp(dir=".")
os.mkdir(f"{folder}/home", 0o700)
with gpg.Context(home_dir=os.path.abspath(f"{folder}/home"), armor=True) as context:
    sealed, _, _ = context.encrypt(b"secret", passphrase="word", sign=False)
    assert sealed.startswith(b"-----BEGIN PGP MESSAGE")
    context.set_passphrase_cb(lambda *arguments: "word")
    context.pinentry_mode = gpg.constants.PINENTRY_MODE_LOOPBACK
    assert context.decrypt(sealed)[0] == b"secret"
    try:
        context.decrypt(b"not that")
        raise AssertionError("no exception")
    except gpg.errors.GPGMEError:
        pass
