# packages: python3-openvdb
import tempfile

import pyopenvdb as vdb

folder = tempfile.mkdtemp(dir=".")
sphere = vdb.createLevelSetSphere(radius=10.0, center=(0, 0, 0), voxelSize=0.5)
accessor = sphere.getAccessor()
assert accessor.getValue((20, 0, 0)) == 0.0 and accessor.getValue((18, 0, 0)) == -1.0, accessor.getValue((18, 0, 0))
sphere.name = "sphere"
vdb.write(folder + "/spheres.vdb", grids=[sphere])
assert vdb.read(folder + "/spheres.vdb", "sphere").activeVoxelCount() == sphere.activeVoxelCount() > 1000
try:
    vdb.read("missing.vdb", "sphere")
except OSError:
    pass
else:
    raise AssertionError("read a missing file")
