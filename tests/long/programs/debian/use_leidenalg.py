# packages: python3-leidenalg
import igraph
import leidenalg

partition = leidenalg.find_partition(igraph.Graph.Famous("Zachary"), leidenalg.ModularityVertexPartition, seed=1)
assert len(partition) == 4 and abs(partition.quality() - 0.4198) < 1e-3
