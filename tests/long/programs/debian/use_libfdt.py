# packages: python3-libfdt
import libfdt

tree = libfdt.FdtSw()
tree.finish_reservemap()
with tree.add_node(""):
    tree.property_string("model", "mine")
    with tree.add_node("cpu"):
        tree.property_u32("reg", 7)
tree = tree.as_fdt()
assert tree.getprop(tree.path_offset("/cpu"), "reg").as_uint32() == 7
assert tree.getprop(0, "model").as_str() == "mine"
try:
    tree.path_offset("/nothing")
    raise AssertionError("no exception")
except libfdt.FdtException as error:
    assert error.err == -libfdt.NOTFOUND
