# packages: pyzmq
import threading
import zmq

context = zmq.Context()
server, client = context.socket(zmq.REP), context.socket(zmq.REQ)
port = server.bind_to_random_port("tcp://127.0.0.1")
thread = threading.Thread(target=lambda: server.send(server.recv()[::-1]))
thread.start()
client.connect(f"tcp://127.0.0.1:{port}")
client.send(b"abc")
assert client.recv() == b"cba"
thread.join()
server.close()
client.close()
context.term()
