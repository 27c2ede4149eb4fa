# packages: python3-grpcio
import concurrent.futures
import os
import tempfile

import grpc

folder = tempfile.mkdtemp(dir=".")


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == "/test/double":
            return grpc.unary_unary_rpc_method_handler(lambda request, context: request * 2)
        return None


server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((Handler(),))
address = "unix:" + os.path.abspath(f"{folder}/socket")
assert server.add_insecure_port(address)
server.start()
with grpc.insecure_channel(address) as channel:
    assert channel.unary_unary("/test/double")(b"ab", timeout=20) == b"abab"
    try:
        channel.unary_unary("/test/nothing")(b"", timeout=20)
        raise AssertionError("no exception")
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.UNIMPLEMENTED
server.stop(None).wait()
