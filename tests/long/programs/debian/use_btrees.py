# packages: python3-btrees
import pickle

from BTrees.IIBTree import IISet, IITreeSet, union
from BTrees.OOBTree import OOBTree, OOBTreePy

assert OOBTree is not OOBTreePy
tree = OOBTree({f"{i:04}": i for i in range(1000)})
assert list(tree.values("0990", "0992")) == [990, 991, 992] and tree.maxKey() == "0999"
assert list(union(IISet([1, 3]), IITreeSet([2, 3]))) == [1, 2, 3]
assert pickle.loads(pickle.dumps(tree))["0500"] == 500
