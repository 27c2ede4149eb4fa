# packages: python3-radix
import radix

tree = radix.Radix()
tree.add("10.0.0.0/8").data["name"] = "wide"
tree.add("10.1.0.0/16").data["name"] = "narrow"
tree.add("2001:db8::/32")
assert tree.search_best("10.1.2.3").data["name"] == "narrow" and tree.search_worst("10.1.2.3").prefix == "10.0.0.0/8"
assert tree.search_best("11.0.0.1") is None and len(tree.nodes()) == 3
try:
    tree.add("no address")
except ValueError:
    pass
else:
    raise AssertionError("added nonsense")
