# packages: python3-pygraphviz graphviz
import pygraphviz

graph = pygraphviz.AGraph(directed=True)
graph.add_edges_from([("a", "b"), ("b", "c"), ("a", "c")])
graph.graph_attr["rankdir"] = "LR"
assert graph.number_of_nodes() == 3 and graph.successors("a") == ["b", "c"]
again = pygraphviz.AGraph(graph.to_string())
assert again.graph_attr["rankdir"] == "LR" and again.has_edge("b", "c")
try:
    pygraphviz.AGraph(string="digraph {{")
except ValueError:
    pass
else:
    raise AssertionError("parsed a broken graph")
