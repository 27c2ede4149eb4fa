# packages: python3-spglib
import spglib

silicon = ([[5.4, 0, 0], [0, 5.4, 0], [0, 0, 5.4]],
           [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0],
            [0.25, 0.25, 0.25], [0.25, 0.75, 0.75], [0.75, 0.25, 0.75], [0.75, 0.75, 0.25]],
           [14] * 8)
assert spglib.get_spacegroup(silicon) == "Fd-3m (227)" and len(spglib.get_symmetry(silicon)["rotations"]) == 192
assert len(spglib.find_primitive(silicon)[1]) == 2
