# packages: python3-mpi4py openmpi-bin
# options: --share libmpi.so* --share libopen-* --share libhwloc* --share libudev* --share libevent_* --share libz.so*
# remark: MPI is initialized once in a process: shared, by whoever comes first, and not finalized
import fcntl

import mpi4py

mpi4py.rc.finalize = False
with open("initializing", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    from mpi4py import MPI
assert MPI.COMM_WORLD.Get_size() == 1 and MPI.COMM_WORLD.allreduce(7) == 7
assert MPI.COMM_WORLD.bcast({"a": [1, 2]}) == {"a": [1, 2]}
try:
    MPI.COMM_SELF.send(None, dest=5)
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_RANK, error
else:
    raise AssertionError("sent to nobody")
