# packages: python3-openbabel
from openbabel import pybel

ethanol = pybel.readstring("smi", "CCO")
assert ethanol.formula == "C2H6O" and abs(ethanol.molwt - 46.06844) < 1e-4, ethanol.molwt
ethanol.addh()
assert len(ethanol.atoms) == 9
ethanol.make3D()
assert abs(ethanol.OBMol.GetBond(1, 2).GetLength() - 1.5) < 0.2
assert pybel.Smarts("[OH]").findall(ethanol) == [(3,)] and ethanol.write("can").split()[0] == "CCO"
pybel.ob.obErrorLog.SetOutputLevel(0)
try:
    pybel.readstring("smi", "nonsense")
except OSError as error:
    assert "Failed to convert" in str(error), error
else:
    raise AssertionError("read a broken SMILES")
