# packages: python3-gsd
import tempfile

import gsd.fl
import numpy

folder = tempfile.mkdtemp(dir=".")
with gsd.fl.open(f"{folder}/file.gsd", "wb", application="test", schema="none", schema_version=[1, 0]) as file:
    file.write_chunk("points", numpy.array([[1, 2], [3, 4]], dtype="f4"))
    file.end_frame()
with gsd.fl.open(f"{folder}/file.gsd", "rb") as file:
    assert file.nframes == 1 and file.read_chunk(0, "points").tolist() == [[1, 2], [3, 4]]
    try:
        file.read_chunk(0, "nothing")
        raise AssertionError("no exception")
    except KeyError:
        pass
