# packages: python3-igraph
import igraph

graph = igraph.Graph.Famous("Zachary")
assert graph.vcount() == 34 and graph.diameter() == 5
assert abs(graph.community_leiden(objective_function="modularity").modularity - 0.42) < 0.03
assert graph.get_shortest_paths(0, 33)[0][-1] == 33
visited = []
graph.motifs_randesu(3, callback=lambda graph, vertices, kind: visited.append(kind) or len(visited) > 4)
assert len(visited) == 5
try:
    graph.get_eid(0, 33)
    raise AssertionError("no exception")
except igraph.InternalError:
    pass
