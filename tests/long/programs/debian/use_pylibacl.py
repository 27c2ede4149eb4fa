# packages: python3-pylibacl
import os
import tempfile

import posix1e

folder = tempfile.mkdtemp(dir=".")
open(folder + "/file", "w").close()
os.chmod(folder + "/file", 0o640)
acl = posix1e.ACL(file=folder + "/file")
assert str(acl) == "user::rw-\ngroup::r--\nother::---\n", str(acl)
entry = acl.append()
entry.tag_type, entry.qualifier = posix1e.ACL_USER, 1000
entry.permset.add(posix1e.ACL_READ)
acl.calc_mask()
assert acl.valid() and posix1e.ACL(text="u::rw,g::r,o::-") != acl and acl.to_any_text(options=posix1e.TEXT_NUMERIC_IDS)
try:
    posix1e.ACL(text="nonsense")
except OSError:
    pass
else:
    raise AssertionError("parsed nonsense")
