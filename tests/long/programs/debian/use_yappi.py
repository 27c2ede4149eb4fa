# packages: python3-yappi
import threading

import yappi


def work(n):
    return sum(i * i for i in range(n))


yappi.start()
thread = threading.Thread(target=work, args=(1000,), name="worker")
thread.start()
thread.join()
work(10)
yappi.stop()
found = [stat for stat in yappi.get_func_stats() if stat.name == "work"]
assert len(found) == 1 and found[0].ncall == 2, found
assert len(yappi.get_thread_stats()) >= 1
yappi.clear_stats()
