# packages: python3-gemmi
import gemmi

document = gemmi.cif.read_string("data_gorgon\n_cell.length_a 10.5\nloop_\n_a.x\n_a.y\n1 2\n3 4\n")
block = document.sole_block()
assert block.find_value("_cell.length_a") == "10.5" and [row[1] for row in block.find("_a.", ["x", "y"])] == ["2", "4"]
cell = gemmi.UnitCell(10, 20, 30, 90, 90, 90)
assert cell.volume == 6000 and gemmi.SpaceGroup("P 21 21 21").number == 19
try:
    gemmi.cif.read_string("nonsense")
except ValueError as error:
    assert "expected" in str(error), error
else:
    raise AssertionError("parsed nonsense")
