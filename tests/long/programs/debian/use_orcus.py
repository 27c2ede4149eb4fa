# packages: python3-orcus
import orcus
from orcus import CellType, csv

document = csv.read("a,b\n1,2.5\n")
sheet = document.sheets[0]
cells = [[(cell.type, cell.value) for cell in row] for row in sheet.get_rows()]
assert [[cell[1] for cell in row] for row in cells[:2]] == [["a", "b"], [1.0, 2.5]], cells[:2]
