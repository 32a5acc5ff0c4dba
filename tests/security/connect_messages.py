"""Run by a test, as a client of Spark Connect: messages of every type with hostile values. Prints a line for each.

The arguments are the server's address, a folder to attack, a seed, how many messages of a type, and the listed types.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import grpc
import pyspark.sql.connect.proto as proto
from pyspark.sql import SparkSession

REMOTE, FOLDER, SEED, EACH, *LISTED = sys.argv[1:]
CHANCE = random.Random(int(SEED))
TEXTS = (
    f"{FOLDER}/out",
    f"file://{FOLDER}/out",
    "t",
    "u",
    "jdbc",
    "parquet",
    "paimon",
    "noop",
    "reflect",
    "Evil",
    "k",
    "id",
    "",
)
STATEMENTS = ("SELECT 1", "DROP TABLE t", "INSERT INTO t VALUES (2, 'b')", "SELECT reflect('java.lang.System', 'gc')")
SECONDS = 30
spark: Any = SparkSession.builder.remote(REMOTE).getOrCreate()


def filled(message: Any, depth: int, first: str = "") -> Any:
    """A message with values; of alternatives one, `first` if it is one of them."""
    kind = message.DESCRIPTOR
    chosen = {one.full_name: CHANCE.choice(one.fields).name for one in kind.oneofs}
    if first:
        chosen[kind.fields_by_name[first].containing_oneof.full_name] = first
    for field in kind.fields:
        if field.containing_oneof is None or field.name == chosen[field.containing_oneof.full_name]:
            fill(message, field, depth)
    return message


def fill(message: Any, field: Any, depth: int) -> None:
    of_messages = field.message_type is not None
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    if of_messages and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        if value.message_type is None and depth > 0 and value.cpp_type == value.CPPTYPE_STRING:
            getattr(message, field.name)[CHANCE.choice(("path", "fs.x.impl", "url", "k"))] = CHANCE.choice(TEXTS)
        return
    if of_messages:
        if depth <= 0 and field.message_type.name not in ("Relation", "Expression"):
            return
        made = getattr(message, field.name)
        inner = made.add() if repeated else made
        if not repeated:
            inner.SetInParent()
        name = field.message_type.name
        if name == "Relation" and depth <= 1:
            inner.sql.query = CHANCE.choice(STATEMENTS)
        elif name == "Expression" and depth <= 1:
            inner.expression_string.expression = "reflect('java.lang.System', 'gc')" if CHANCE.random() < 0.3 else "1"
        elif depth > 0 and name != "Any":
            filled(inner, depth - 1)
        return
    value = scalar(field)
    if repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def scalar(field: Any) -> Any:
    if field.enum_type is not None:
        return CHANCE.choice([one.number for one in field.enum_type.values])
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        text = CHANCE.choice(STATEMENTS if field.name in ("query", "sql") else TEXTS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    if kind == field.CPPTYPE_BOOL:
        return CHANCE.random() < 0.5
    return CHANCE.choice((0, 1, 2, 3)) if kind not in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT) else 0.5


def types_in(message: Any) -> Iterator[str]:
    """The types of a message and of what is in it."""
    yield message.DESCRIPTOR.full_name.removeprefix("spark.connect.")
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"].message_type
            if inner is not None:
                for one in value.values():
                    yield from types_in(one)
            continue
        for one in value if not hasattr(value, "DESCRIPTOR") else [value]:
            yield from types_in(one)


def plans() -> Iterator[tuple[str, Any]]:
    for kind, wrapper in (
        ("rel_type", proto.Relation),
        ("command_type", proto.Command),
        ("expr_type", proto.Expression),
    ):
        for field in wrapper.DESCRIPTOR.oneofs_by_name[kind].fields:
            for _ in range(int(EACH)):
                yield field.name, (wrapper, filled(wrapper(), 4, field.name))


def requests() -> Iterator[tuple[str, Any, Any]]:
    """Calls: a name, what sends it, and the message."""
    stub = spark.client._stub
    for name, (wrapper, made) in plans():
        request = spark.client._execute_plan_request_with_metadata()
        if wrapper is proto.Relation:
            request.plan.root.CopyFrom(made)
        elif wrapper is proto.Command:
            request.plan.command.CopyFrom(made)
        else:
            request.plan.root.project.input.range.end = 1
            request.plan.root.project.input.range.step = 1
            request.plan.root.project.expressions.add().CopyFrom(made)
        yield name, stub.ExecutePlan, request
    for field in proto.AnalyzePlanRequest.DESCRIPTOR.oneofs_by_name["analyze"].fields:
        for _ in range(int(EACH)):
            request = spark.client._analyze_plan_request_with_metadata()
            inner = getattr(request, field.name)
            inner.SetInParent()
            filled(inner, 4)
            yield field.name, stub.AnalyzePlan, request
    for field in proto.ConfigRequest.Operation.DESCRIPTOR.oneofs_by_name["op_type"].fields:
        for _ in range(int(EACH)):
            request = spark.client._config_request_with_metadata()
            inner = getattr(request.operation, field.name)
            inner.SetInParent()
            filled(inner, 4)
            yield field.name, stub.Config, request


def end_of(send: Any, request: Any) -> str:
    try:
        answered = send(request, metadata=spark.client._builder.metadata(), timeout=SECONDS)
        for _ in answered if hasattr(answered, "__next__") else ():
            pass
    except grpc.RpcError as error:
        text = f"{error.details()} {error.trailing_metadata()}"
        return (
            "refused"
            if "only reads" in text or "PAIMON_" in text
            else f"failed: {error.code()} {error.details()}"[:300]
        )
    return "done"


for name, send, request in requests():
    listed = set(types_in(request)) <= set(LISTED)
    print(json.dumps([name, listed, end_of(send, request)]), flush=True)
