# packages: python3-marisa
import marisa

keys = marisa.Keyset()
for word in ("gorgon", "gorge", "gore", "head"):
    keys.push_back(word)
trie = marisa.Trie()
trie.build(keys)
assert trie.num_keys() == 4
agent = marisa.Agent()
agent.set_query("gor")
found = []
while trie.predictive_search(agent):
    found.append(agent.key_str())
assert sorted(found) == ["gore", "gorge", "gorgon"], found
try:
    trie.load("missing")
except RuntimeError as error:
    assert "MARISA_IO_ERROR" in str(error), error
else:
    raise AssertionError("loaded a missing file")
