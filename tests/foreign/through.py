"""gRPC as it is used, to be sent through a gateway: a server that knows no schema, and a client.

    through.py serve                  prints its port, serves until its input ends
    through.py ask ADDRESS CA NAME    calls everything, prints what came of it as one JSON line
"""

import json
import sys
import threading
from concurrent import futures

import grpc

SERVICE = "through.Test"


class Server(grpc.GenericRpcHandler):
    def __init__(self):
        self.goes_on = threading.Event()
        self.cancelled = threading.Event()

    def service(self, details):
        name = details.method.rsplit("/", 1)[1]
        one, many = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return {
            "Echo": one(self.echo),
            "Fails": one(self.fails),
            "GoOn": one(self.go_on),
            "Hangs": one(self.hangs),
            "Left": one(lambda asked, context: repr(context.time_remaining()).encode()),
            "Ticks": many(self.ticks),
            "Talks": grpc.stream_stream_rpc_method_handler(lambda all, context: all),
            "WasCancelled": one(lambda asked, context: repr(self.cancelled.wait(10)).encode()),
        }.get(name)

    def echo(self, asked, context):
        told = dict(context.invocation_metadata())
        context.send_initial_metadata([("x-before", told.get("x-own", "none"))])
        context.set_trailing_metadata([("x-after", "yes"), ("x-after-bin", b"\x00\xff")])
        return asked

    def fails(self, asked, context):
        context.set_trailing_metadata([("x-why", "asked to")])
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "nicht für 100 % aller")

    def go_on(self, asked, context):
        self.goes_on.set()
        return b""

    def hangs(self, asked, context):
        over = threading.Event()
        context.add_callback(over.set)
        over.wait(30)
        self.cancelled.set()
        return b""

    def ticks(self, asked, context):
        yield b"first"
        yield b"second" if self.goes_on.wait(10) else b"too late"


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    server.add_generic_rpc_handlers((Server(),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(0)


def ask(address, ca, name):
    shown = grpc.ssl_channel_credentials(open(ca, "rb").read())
    options = [("grpc.ssl_target_name_override", name), ("grpc.max_receive_message_length", -1)]
    with grpc.secure_channel(address, shown, options) as line:
        print(json.dumps(asked(line)), flush=True)


def failed(error):
    return {
        "code": error.code().name,
        "details": error.details(),
        "why": dict(error.trailing_metadata() or ()).get("x-why"),
    }


def asked(line):
    one = lambda method: line.unary_unary(f"/{SERVICE}/{method}")
    said = {}

    answer, call = one("Echo").with_call(b"hello", metadata=[("x-own", "kept")], timeout=20)
    said["echo"] = answer.decode()
    said["before"] = dict(call.initial_metadata()).get("x-before")
    trailers = dict(call.trailing_metadata())
    said["after"] = [trailers.get("x-after"), list(trailers.get("x-after-bin", b""))]

    large = b"x" * 3_000_000
    said["large"] = one("Echo")(large, timeout=20) == large

    try:
        one("Fails")(b"", timeout=20)
    except grpc.RpcError as error:
        said["fails"] = failed(error)

    ticks = line.unary_stream(f"/{SERVICE}/Ticks")(b"", timeout=20)
    said["ticks"] = [next(ticks).decode()]
    one("GoOn")(b"", timeout=20)
    said["ticks"].append(next(ticks).decode())

    said["talks"] = talks(line)

    left = float(one("Left")(b"", timeout=7))
    # It is told in steps, rounded up.
    said["left"] = 0 < left < 8
    try:
        one("Hangs")(b"", timeout=0.3)
    except grpc.RpcError as error:
        said["late"] = error.code().name
    said["cancelled"] = one("WasCancelled")(b"", timeout=20).decode()
    return said


def talks(line):
    """Each message waits for the answer to the one before; then many at once."""
    heard = threading.Semaphore(1)
    told = [f"message {number}".encode() for number in range(50)]
    many = [bytes([number % 256]) * 4096 for number in range(2_000)]

    def all_of_it():
        for one in told:
            heard.acquire()
            yield one
        yield from many

    answers = []
    for one in line.stream_stream(f"/{SERVICE}/Talks")(all_of_it(), timeout=30):
        answers.append(one)
        heard.release()
    return answers == told + many


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
