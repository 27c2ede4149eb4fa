# packages: python3-orcus
from orcus import CellType, csv

document = csv.read("a,b\n1,2.5\n")
cells = [[(cell.type, cell.value) for cell in row] for row in document.sheets[0].get_rows()]
assert cells[0][:2] == [(CellType.STRING, "a"), (CellType.STRING, "b")], cells[0]
assert cells[1][:2] == [(CellType.NUMERIC, 1.0), (CellType.NUMERIC, 2.5)], cells[1]
