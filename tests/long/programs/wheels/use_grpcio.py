# packages: grpcio
from concurrent.futures import ThreadPoolExecutor
import grpc


def reply(request, context):
    if request == b"no":
        context.abort(grpc.StatusCode.NOT_FOUND, "nothing of that name")
    return request[::-1]


server = grpc.server(ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", {"Reverse": grpc.unary_unary_rpc_method_handler(reply)}),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
    call = channel.unary_unary("/test/Reverse")
    assert call(b"snake", timeout=60) == b"ekans"
    try:
        call(b"no", timeout=60)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND
    else:
        raise AssertionError("the server's refusal was lost")
server.stop(None).wait()
