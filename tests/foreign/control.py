"""One call to a gateway's interface, by a client that knows nothing of it but what reflection says.

    control.py [--uid N] [--ca F --cert F --key F --name N] [--take N] ADDRESS SERVICE/METHOD [JSON]

Prints one JSON line for each answer, and one for a status that is not OK.
"""

import argparse
import json
import os
import sys

import grpc
from google.protobuf import any_pb2, descriptor_pool, json_format, message_factory
from google.rpc import status_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)


def channel(asked):
    if not asked.ca:
        options = [("grpc.default_authority", "localhost")]
        return grpc.insecure_channel(asked.address, options)
    read = lambda path: open(path, "rb").read() if path else None
    shown = grpc.ssl_channel_credentials(read(asked.ca), read(asked.key), read(asked.cert))
    options = [("grpc.ssl_target_name_override", asked.name)]
    return grpc.secure_channel(asked.address, shown, options)


def plain(message):
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def detail(pool, one: any_pb2.Any):
    name = one.type_url.split("/")[-1]
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    return {"type": name, **plain(kind.FromString(one.value))}


def refused(pool, error):
    said = {"code": error.code().name, "message": error.details(), "details": []}
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and pool:
            whole = status_pb2.Status.FromString(value)
            assert (whole.code, whole.message) == (error.code().value[0], error.details())
            said["details"] = [detail(pool, one) for one in whole.details]
    return said


def run(asked, line):
    pool = None
    try:
        pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(line))
        service, method = asked.call.split("/")
        called = pool.FindServiceByName(service).FindMethodByName(method)
        request = message_factory.GetMessageClass(called.input_type)
        answer = message_factory.GetMessageClass(called.output_type)
        call = line.unary_stream if called.server_streaming else line.unary_unary
        call = call(
            f"/{asked.call}",
            request_serializer=request.SerializeToString,
            response_deserializer=answer.FromString,
        )
        given = json_format.Parse(asked.json, request())
        answers = call(given, timeout=30)
        if not called.server_streaming:
            answers = [answers]
        for _, one in zip(range(asked.take), answers):
            print(json.dumps(plain(one)), flush=True)
    except grpc.RpcError as error:
        print(json.dumps(refused(pool, error)), flush=True)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--ca", "--cert", "--key", "--name"):
        parser.add_argument(flag)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--take", type=int, default=1)
    parser.add_argument("address")
    parser.add_argument("call")
    parser.add_argument("json", nargs="?", default="{}")
    asked = parser.parse_args()
    if asked.uid:
        os.setgroups([])
        os.setgid(asked.uid)
        os.setuid(asked.uid)
    with channel(asked) as line:
        return run(asked, line)


sys.exit(main())
