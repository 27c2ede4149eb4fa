# packages: python3-pyxattr
import tempfile

import xattr

folder = tempfile.mkdtemp(dir=".")
with open(folder + "/file", "w") as file:
    try:
        xattr.set(file, "user.gorgon", b"head")
    except OSError as error:
        assert error.errno == 95, error  # not on every file system
    else:
        assert xattr.get(folder + "/file", "user.gorgon") == b"head" and xattr.list(file) == [b"user.gorgon"]
try:
    xattr.get("missing", "user.gorgon")
except OSError as error:
    assert error.errno == 2, error
else:
    raise AssertionError("an attribute of a missing file")
