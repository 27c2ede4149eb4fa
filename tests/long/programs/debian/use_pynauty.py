# packages: python3-pynauty
import pynauty

ring = pynauty.Graph(5, adjacency_dict={i: [(i + 1) % 5] for i in range(5)})
assert pynauty.autgrp(ring)[1] == 10.0
star = pynauty.Graph(5, adjacency_dict={0: [2], 2: [4], 4: [1], 1: [3], 3: [0]})
assert pynauty.isomorphic(ring, star) and pynauty.certificate(ring) == pynauty.certificate(star)
