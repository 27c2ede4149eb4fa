# packages: python3-rdkit
from rdkit import Chem
from rdkit.Chem import AllChem, Descriptors, rdMolDescriptors

aspirin = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
assert abs(Descriptors.MolWt(aspirin) - 180.159) < 1e-2 and rdMolDescriptors.CalcMolFormula(aspirin) == "C9H8O4"
assert aspirin.GetSubstructMatches(Chem.MolFromSmarts("C(=O)[OH]")) == ((10, 11, 12),)
molecule = Chem.AddHs(aspirin)
assert AllChem.EmbedMolecule(molecule, randomSeed=7) == 0
assert AllChem.MMFFOptimizeMolecule(molecule, maxIters=500) in (0, 1)
assert AllChem.GetMorganFingerprintAsBitVect(aspirin, 2).GetNumOnBits() == 24
try:
    Chem.SanitizeMol(Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False))
except Chem.AtomValenceException as error:
    assert "valence" in str(error), error
else:
    raise AssertionError("a carbon with five bonds")
