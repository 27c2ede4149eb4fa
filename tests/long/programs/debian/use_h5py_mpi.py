# packages: python3-h5py-mpi python3-mpi4py
import tempfile

import numpy
from h5py import _debian_h5py_mpi as h5py

folder = tempfile.mkdtemp(dir=".")
with h5py.File(f"{folder}/file.h5", "w") as file:
    file["a"] = numpy.arange(5)
with h5py.File(f"{folder}/file.h5", "r") as file:
    assert file["a"][3] == 3
