# packages: gevent
import gevent
from gevent import socket
from gevent.server import StreamServer

server = StreamServer(("127.0.0.1", 0), lambda client, _: client.sendall(client.recv(100)[::-1]))
server.start()


def ask(text):
    client = socket.create_connection(("127.0.0.1", server.server_port))
    client.sendall(text)
    return client.recv(100)


jobs = [gevent.spawn(ask, b"abc"), gevent.spawn(ask, b"xyz")]
gevent.joinall(jobs, timeout=60, raise_error=True)
assert [job.value for job in jobs] == [b"cba", b"zyx"]
server.stop()
