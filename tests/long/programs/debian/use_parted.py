# packages: python3-parted
import tempfile

import parted

folder = tempfile.mkdtemp(dir=".")
with open(folder + "/disk", "wb") as file:
    file.truncate(64 << 20)
device = parted.getDevice(folder + "/disk")
disk = parted.freshDisk(device, "gpt")
geometry = parted.Geometry(device, start=2048, length=20480)
partition = parted.Partition(disk, parted.PARTITION_NORMAL, geometry=geometry)
disk.addPartition(partition, parted.Constraint(exactGeom=geometry))
disk.commitToDevice()
again = parted.newDisk(parted.getDevice(folder + "/disk"))
assert again.type == "gpt" and [part.geometry.length for part in again.partitions] == [20480]
try:
    parted.getDevice("missing")
except parted.IOException as error:
    assert "missing" in str(error), error
else:
    raise AssertionError("opened a missing disk")
