# packages: python3-subversion
import os
import tempfile

from svn import core, fs, repos

folder = os.path.abspath(tempfile.mkdtemp(dir="."))
repository = repos.create(folder + "/repository", "", "", None, None)
store = repos.fs(repository)
transaction = fs.begin_txn(store, fs.youngest_rev(store))
root = fs.txn_root(transaction)
fs.make_dir(root, "/folder")
fs.make_file(root, "/folder/file")
stream = fs.apply_text(root, "/folder/file", None)
core.svn_stream_write(stream, b"gorgon\n")
core.svn_stream_close(stream)
fs.commit_txn(transaction)
head = fs.revision_root(store, fs.youngest_rev(store))
assert fs.youngest_rev(store) == 1 and list(fs.dir_entries(head, "/folder")) == [b"file"]
assert core.svn_stream_read(fs.file_contents(head, "/folder/file"), 100) == b"gorgon\n"
try:
    repos.open("missing")
except core.SubversionException as error:
    assert "missing" in str(error), error
else:
    raise AssertionError("opened a missing repository")
