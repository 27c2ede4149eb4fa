# packages: python3-h5py
import tempfile

import h5py
import numpy

folder = tempfile.mkdtemp(dir=".")
with h5py.File(f"{folder}/file.h5", "w") as file:
    data = file.create_dataset("a/b", data=numpy.arange(20).reshape(4, 5), chunks=(2, 5), compression="gzip")
    data.attrs["unit"] = "m"
    seen = []
    file.visit(seen.append)  # a callback from C
assert seen == ["a", "a/b"]
with h5py.File(f"{folder}/file.h5", "r") as file:
    assert file["a/b"][1:3, 2].tolist() == [7, 12] and file["a/b"].attrs["unit"] == "m"
    try:
        file["nothing"]
        raise AssertionError("no exception")
    except KeyError:
        pass
