# packages: python3-mecab mecab-ipadic-utf8
import MeCab

tagger = MeCab.Tagger("-r /etc/mecabrc")
tagger.parse("")
nodes, node = [], tagger.parseToNode("\u79c1\u306f\u5b66\u751f\u3067\u3059")
while node:
    nodes.append(node.surface)
    node = node.next
assert nodes == ["", "\u79c1", "\u306f", "\u5b66\u751f", "\u3067\u3059", ""], nodes
try:
    MeCab.Tagger("-d missing")
except RuntimeError:
    pass
else:
    raise AssertionError("a missing dictionary")
