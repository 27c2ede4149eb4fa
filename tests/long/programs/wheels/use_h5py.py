# packages: h5py
import h5py
import numpy

with h5py.File("numbers.h5", "w", driver="core", backing_store=False) as file:
    file.create_dataset("a/b", data=numpy.arange(1000.0), chunks=(100,), compression="gzip")
    file["a"].attrs["unit"] = "m"
    assert file["a/b"][::100].tolist() == list(range(0, 1000, 100)) and file["a"].attrs["unit"] == "m"
