# packages: python3-psutil
import os

import psutil

process = psutil.Process()
assert process.pid == os.getpid() and process.memory_info().rss > 1 << 20
assert psutil.cpu_count() >= 1 and psutil.virtual_memory().total > 1 << 28
assert isinstance(psutil.net_if_addrs(), dict) and process.cpu_affinity()
assert psutil.Process().ionice().ioclass in range(4) and psutil.disk_usage("/").total > 0
try:
    psutil.Process(2**22 + 1)
except psutil.NoSuchProcess:
    pass
else:
    raise AssertionError("a process that cannot be")
