# packages: python3-dulwich
import tempfile

from dulwich import _diff_tree, _objects, _pack
from dulwich.objects import TreeEntry
from dulwich.repo import Repo

folder = tempfile.mkdtemp(dir=".")
assert _objects.parse_tree(b"100644 name\0" + b"a" * 20) == [(b"name", 0o100644, b"61" * 20)]
assert b"".join(_pack.apply_delta(b"old text", b"\x08\x09\x90\x08\x01s")) == b"old texts"
assert _diff_tree._is_tree(TreeEntry(b"folder", 0o40000, b"61" * 20))
repo = Repo.init(f"{folder}/repo", mkdir=True)
with open(f"{folder}/repo/file", "w") as file:
    file.write("text")
repo.stage(["file"])
repo.do_commit(b"first", b"Me <me@localhost>", author_timestamp=0, author_timezone=0)
assert repo[repo.head()].message == b"first"
