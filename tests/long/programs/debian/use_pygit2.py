# packages: python3-pygit2
import tempfile

import pygit2

folder = tempfile.mkdtemp(dir=".")
repo = pygit2.init_repository(folder + "/repository")
blob = repo.create_blob(b"gorgon\n")
assert str(blob) == str(pygit2.hash(b"gorgon\n"))
builder = repo.TreeBuilder()
builder.insert("file", blob, pygit2.GIT_FILEMODE_BLOB)
author = pygit2.Signature("Name", "name@example.org", 1, 0)
commit = repo.create_commit("HEAD", author, author, "first", builder.write(), [])
assert str(repo.head.target) == str(commit) and repo[commit].message == "first"
assert [entry.name for entry in repo[commit].tree] == ["file"] and len(list(repo.walk(commit))) == 1
try:
    repo.revparse_single("missing")
except KeyError:
    pass
else:
    raise AssertionError("found a missing revision")
