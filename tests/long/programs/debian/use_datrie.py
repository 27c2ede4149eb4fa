# packages: python3-datrie
import string
import tempfile

import datrie

folder = tempfile.mkdtemp(dir=".")
trie = datrie.Trie(string.ascii_lowercase)
trie["foo"], trie["foobar"], trie["bar"] = 1, [2], "three"
assert trie.prefixes("foobarbaz") == ["foo", "foobar"] and trie.keys("ba") == ["bar"]
trie.save(f"{folder}/file")
assert datrie.Trie.load(f"{folder}/file")["foobar"] == [2]
