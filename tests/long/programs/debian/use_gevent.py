# packages: python3-gevent
import gevent
import gevent.event
import gevent.lock
import gevent.queue
from gevent import socket, threadpool

queue, seen = gevent.queue.Queue(), []
workers = [gevent.spawn(lambda n=n: seen.append((n, queue.get(timeout=10)))) for n in range(3)]
for word in "abc":
    gevent.sleep(0.001)
    queue.put(word)
gevent.joinall(workers, raise_error=True)
assert seen == [(0, "a"), (1, "b"), (2, "c")], seen
here, there = socket.socketpair()
reader = gevent.spawn(there.recv, 10)
here.sendall(b"hello")
assert reader.get() == b"hello"
pool = threadpool.ThreadPool(2)
assert pool.map(lambda n: n * n, range(5)) == [0, 1, 4, 9, 16]
pool.kill()
try:
    with gevent.Timeout(0.01):
        gevent.event.Event().wait()
    raise AssertionError("no exception")
except gevent.Timeout:
    pass
