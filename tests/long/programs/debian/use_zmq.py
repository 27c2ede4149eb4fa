# packages: python3-zmq
import tempfile
import threading

import zmq

folder = tempfile.mkdtemp(dir=".")
context = zmq.Context()
server = context.socket(zmq.REP)
server.bind(f"ipc://{folder}/socket")


def serve():
    server.send_json({"got": server.recv_json()["value"] + 1})


thread = threading.Thread(target=serve)
thread.start()
client = context.socket(zmq.REQ)
client.connect(f"ipc://{folder}/socket")
client.send_json({"value": 41})
assert client.poll(20000) and client.recv_json() == {"got": 42}
thread.join()
pair = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
pair[0].bind("inproc://pair")
pair[1].connect("inproc://pair")
pair[0].send(memoryview(b"x" * 100000), copy=False)
assert len(pair[1].recv(copy=False).buffer) == 100000
try:
    client.bind("nonsense")
except zmq.ZMQError as error:
    assert error.errno == 22, error
else:
    raise AssertionError("bound to nonsense")
context.destroy()
