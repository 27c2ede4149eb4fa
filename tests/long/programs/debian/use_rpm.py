# packages: python3-rpm
import tempfile

import rpm

folder = tempfile.mkdtemp(dir=".")
assert rpm.labelCompare(("1", "2.0", "1"), ("1", "1.9", "3")) == 1
rpm.addMacro("gorgon", "three heads")
assert rpm.expandMacro("%{gorgon}!") == "three heads!"
transaction = rpm.TransactionSet("/")
transaction.setVSFlags(-1)
with open(folder + "/file.rpm", "wb") as file:
    file.write(b"no package")
with open(folder + "/file.rpm") as file:
    try:
        transaction.hdrFromFdno(file.fileno())
    except rpm.error as error:
        assert "header" in str(error), error
    else:
        raise AssertionError("read a header out of nothing")
header = rpm.hdr()
header[rpm.RPMTAG_NAME] = "gorgon"
assert header[rpm.RPMTAG_NAME] == "gorgon" and rpm.ds(header, "Provides") is not None
