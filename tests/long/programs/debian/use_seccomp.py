# packages: python3-seccomp
import os
import tempfile

import seccomp

filter = seccomp.SyscallFilter(seccomp.ALLOW)
filter.add_rule(seccomp.ERRNO(13), "mkdir")
assert seccomp.resolve_syscall(seccomp.Arch.NATIVE, "mkdir") == 83
with tempfile.TemporaryFile() as file:
    filter.export_bpf(file)
    assert os.fstat(file.fileno()).st_size % 8 == 0 < os.fstat(file.fileno()).st_size
child = os.fork()
if not child:
    status = 1
    try:
        filter.load()
        os.mkdir("folder")
    except PermissionError:
        status = 7
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
try:
    filter.add_rule(seccomp.ALLOW, "mkdir")
except (RuntimeError, ValueError):
    pass
else:
    raise AssertionError("a rule that is the default")
