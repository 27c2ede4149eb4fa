# packages: python3-gudhi
import gudhi

tree = gudhi.SimplexTree()
for edge, value in (([0, 1], 1.0), ([1, 2], 2.0), ([0, 2], 3.0)):
    tree.insert(edge, value)
tree.compute_persistence(persistence_dim_max=True)
assert tree.num_simplices() == 6 and tree.betti_numbers() == [1, 1], tree.betti_numbers()
rips = gudhi.RipsComplex(points=[[0, 0], [1, 0], [0, 1]], max_edge_length=1.1).create_simplex_tree(2)
assert rips.num_simplices() == 5
