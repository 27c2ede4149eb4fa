# packages: psutil
import os
import psutil

process = psutil.Process()
assert process.pid == os.getpid() and process.memory_info().rss > 1 << 20
assert psutil.virtual_memory().total > 1 << 28 and psutil.cpu_count() == os.cpu_count()
