# packages: python3-gv
import gv

graph = gv.digraph("g")
gv.setv(gv.edge(graph, "a", "b"), "color", "red")
assert gv.nameof(gv.headof(gv.firstedge(graph))) == "b"
assert gv.layout(graph, "dot")
text = gv.renderdata(graph, "svg")
assert "<svg" in text and "red" in text
gv.rm(graph)
