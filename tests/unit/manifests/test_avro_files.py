"""Avro files: round trips, old and new writers, and files made to do harm."""

from __future__ import annotations

import io
import json
import time
import zlib
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnreadableFileError, UnsupportedVersionError
from paimon_core.formats.avro.container import ContainerReader
from paimon_core.manifests.record_files import decode_file, encode_avro
from paimon_core.spec.encodings.varints import encode_varint, zigzag
from paimon_core.spec.records import Column, Record
from tests.unit.spec.test_records import INNER, OUTER, Inner, Outer

PATH = "db.db/t/manifest/manifest-x"
CODECS = {"zstd": "zstandard", "snappy": "snappy", "deflate": "deflate", "null": "null"}
VALUES = [
    Outer(text="a", number=1, inner=Inner(n=2, m=None), data=b"\0", count=2**62, names=["x", "ä"]),
    Outer(text="", number=-(2**31), inner=Inner(n=-(2**63))),
]
VERSION = {"name": "_VERSION", "type": "int"}


def decode(data: bytes, record: Record[Any] = OUTER, version: int = 2) -> list[Any]:
    return list(decode_file(record, version, PATH, data))


def field(name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": avro}


def schema_of(*fields: dict[str, Any], **replaced: Any) -> dict[str, Any]:
    """OUTER's schema with types replaced (None: the column is left out) and fields added."""
    own = [field(f["name"], replaced.get(f["name"], f["type"])) for f in OUTER.avro()["fields"]]
    return {"type": "record", "name": "r", "fields": [VERSION, *[f for f in own if f["type"] is not None], *fields]}


def avro_file(schema: Any, rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows)
    return out.getvalue()


def varint(number: int) -> bytes:
    return encode_varint(zigzag(number))


def raw_file(schema: Any, *blocks: tuple[int, bytes], codec: str = "null") -> bytes:
    """An Avro file of blocks as they are: how many records each is said to hold, and its bytes."""
    sync, text = b"S" * 16, schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    members = {b"avro.schema": text, b"avro.codec": codec.encode()}
    header = varint(2) + b"".join(varint(len(x)) + x for kv in members.items() for x in kv) + b"\0"
    body = b"".join(varint(count) + varint(len(data)) + data + sync for count, data in blocks)
    return b"Obj\x01" + header + sync + body


ROW = {"_VERSION": 2, "_TEXT": "t", "_NUMBER": 3, "_INNER": {"_N": 4, "_M": 5}, "_DATA": b"d", "_COUNT": 6}


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_written_is_read(codec: str) -> None:
    data = encode_avro(OUTER, 2, VALUES, codec)
    assert decode(data) == VALUES
    assert ContainerReader(io.BytesIO(data)).codec == CODECS[codec]
    assert decode(encode_avro(OUTER, 2, [], codec)) == []


def test_many_blocks() -> None:
    many = [Outer(text=str(i) * 50, number=i, inner=Inner(n=i)) for i in range(5000)]
    assert decode(encode_avro(OUTER, 2, many, "null")) == many


def test_nullable_columns_that_an_old_writer_lacks_take_their_defaults() -> None:
    inner = {"type": "record", "name": "i", "fields": [field("_N", "long")]}
    schema = schema_of(_COUNT=None, _NAMES=None, _INNER=inner)
    value = Outer(text="t", number=3, inner=Inner(n=4), data=b"d")
    assert decode(avro_file(schema, [ROW | {"_INNER": {"_N": 4}}])) == [value]


def test_columns_of_a_later_writer_are_passed_over() -> None:
    item = {"type": "record", "name": "x", "fields": [field("a", "int"), field("b", ["null", "string"])]}
    more: list[Any] = [
        field("_NEW", ["null", {"type": "array", "items": item}]),
        field("_MAP", {"type": "map", "values": "null"}),
        field("_ENUM", {"type": "enum", "name": "e", "symbols": ["A"]}),
        field("_FIXED", {"type": "fixed", "name": "f", "size": 0}),
    ]
    row = ROW | {"_NEW": [{"a": 1, "b": None}], "_MAP": {"k": None}, "_ENUM": "A", "_FIXED": b""}
    assert decode(avro_file(schema_of(*more), [row])) == decode(avro_file(schema_of(), [ROW]))


def test_types_that_hold_the_same_values_are_accepted() -> None:
    text = {"type": "string", "avro.java.string": "String"}
    schema = schema_of(_TEXT=text, _NUMBER="long", _COUNT="int", _NAMES={"type": "array", "items": "string"})
    (value,) = decode(avro_file(schema, [ROW | {"_NAMES": ["x"]}]))
    assert (value.text, value.number, value.count, value.names) == ("t", 3, 6, ["x"])


TEXTS = {"type": "array", "items": "string"}
RECORD = INNER.avro() | {"namespace": "n.s"}
FORMS: list[tuple[str, Any, Any]] = [
    ("_TEXT", "bytes", b"t"),
    ("_TEXT", ["null", "string"], "t"),
    ("_TEXT", ["string", "null"], "t"),
    ("_TEXT", ["string", "int"], "t"),
    ("_TEXT", ["null", "bytes", "string"], "t"),
    ("_TEXT", {"type": "string", "logicalType": "uuid"}, "t"),
    ("_NUMBER", ["int", "null"], 3),
    ("_NUMBER", ["null", "int", "long"], 3),
    ("_NUMBER", ["string", {"type": "enum", "name": "e", "symbols": ["A"]}, "long"], 3),
    ("_NUMBER", {"type": "long", "logicalType": "unknown"}, 3),
    ("_DATA", "string", "d"),
    ("_DATA", ["null", "string"], "d"),
    ("_COUNT", "null", None),
    ("_COUNT", ["string", "null"], None),
    ("_COUNT", ["long", "null"], None),
    ("_NAMES", {"type": "array", "items": ["null", "string"]}, ["x"]),
    ("_NAMES", ["null", {"type": "array", "items": ["bytes", "null"]}], [b"x"]),
    ("_NAMES", [TEXTS, "null"], None),
    ("_INNER", ["null", RECORD], {"_N": 4, "_M": 5}),
    ("_INNER", [RECORD, "null", "string"], {"_N": 4, "_M": 5}),
]


@pytest.mark.parametrize(("column", "avro", "value"), FORMS, ids=[f"{c} as {a}"[:60] for c, a, _ in FORMS])
def test_other_forms_of_the_same_values(column: str, avro: Any, value: Any) -> None:
    (found,) = decode(avro_file(schema_of(**{column: avro}), [ROW | {column: value}]))
    (expected,) = decode(avro_file(schema_of(), [ROW]))
    attribute = next(c.attribute for c in OUTER.columns if c.name == column)
    plain = {"_COUNT": None, "_NAMES": ["x"] if value else None}.get(column, getattr(expected, attribute))
    assert found == replace(expected, **{attribute: plain})


@pytest.mark.parametrize("root", [["null"], ["null", "string"]])
@pytest.mark.parametrize("first", [True, False])
def test_the_root_may_be_a_union(root: list[Any], first: bool) -> None:
    schema = [schema_of(), *root] if first else [*root, schema_of()]
    assert decode(avro_file(schema, [ROW])) == decode(avro_file(schema_of(), [ROW]))
    with pytest.raises(UnfamiliarFormError, match=f"{PATH}.*a record is NULL"):
        decode(avro_file(schema, [ROW, None]))


@pytest.mark.parametrize(
    ("column", "avro", "value", "problem"),
    [
        ("_TEXT", ["null", "string"], None, "column _TEXT is NULL"),
        ("_TEXT", ["string", "int"], 5, "column _TEXT has a value of another type"),
        ("_COUNT", ["string", "null"], "x", "column _COUNT has a value of another type"),
        ("_NAMES", {"type": "array", "items": ["null", "string"]}, ["x", None], "column _NAMES is NULL"),
        ("_INNER", ["null", RECORD], None, "column _INNER is NULL"),
    ],
)
def test_values_that_a_column_cannot_take_are_refused_by_name(column: str, avro: Any, value: Any, problem: str) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH}.*{problem}"):
        decode(avro_file(schema_of(**{column: avro}), [ROW | {column: value}]))


@pytest.mark.parametrize(
    ("column", "avro"),
    [
        ("_TEXT", "long"),
        ("_TEXT", {"type": "enum", "name": "e", "symbols": ["A"]}),
        ("_NUMBER", "string"),
        ("_NUMBER", "boolean"),
        ("_NUMBER", "double"),
        ("_NUMBER", "null"),
        ("_DATA", {"type": "fixed", "name": "f", "size": 1}),
        ("_NAMES", {"type": "array", "items": "int"}),
        ("_NAMES", {"type": "map", "values": "string"}),
        ("_INNER", "string"),
        ("_INNER", [RECORD | {"name": "a"}, RECORD | {"name": "b"}]),
    ],
    ids=str,
)
def test_columns_of_another_type_are_refused(column: str, avro: Any) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} has a form.*column {column} is of type"):
        decode(raw_file(schema_of(**{column: avro})))


def test_a_nested_column_of_another_type_is_named() -> None:
    inner = {"type": "record", "name": "i", "fields": [field("_N", "string")]}
    with pytest.raises(UnfamiliarFormError, match=f"{PATH}.*column _N is of type string, and must be long"):
        decode(raw_file(schema_of(_INNER=inner)))
    with pytest.raises(UnfamiliarFormError, match=f"{PATH}.*type string, and must be a record"):
        decode(raw_file("string"))
    with pytest.raises(UnfamiliarFormError, match=f"{PATH}.*column _TEXT exists twice"):
        decode(raw_file(schema_of(field("_TEXT", "string"))))


def test_a_missing_column_is_named() -> None:
    for column in ("_TEXT", "_DATA", "_INNER"):
        with pytest.raises(UnfamiliarFormError, match=f"{PATH} has a form.*column {column} is missing"):
            decode(avro_file(schema_of(**{column: None}), [ROW]))
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} has a form.*column _VERSION is missing"):
        decode(avro_file({"type": "record", "name": "r", "fields": schema_of()["fields"][1:]}, [ROW]))


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match=f"{PATH}.*records of version 3.*up to 2.*; upgrade paimon-sql"):
        decode(encode_avro(OUTER, 3, VALUES, "null"))


@pytest.mark.parametrize("codec", CODECS)
def test_every_truncation_is_noticed(codec: str) -> None:
    data = encode_avro(OUTER, 2, VALUES, codec)
    header = len(encode_avro(OUTER, 2, [], codec))
    for size in range(len(data)):
        if size != header:  # an Avro file of no blocks
            with pytest.raises(CorruptFileError, match=PATH):
                decode(data[:size])


@pytest.mark.parametrize("data", [b"", b"Obj\x01", b"PAR1", b"Obj\x01" + b"\xff" * 100, b'{"a": 1}', bytes(1000)])
def test_foreign_bytes(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=f"{PATH} is corrupt: it is not a file of records"):
        decode(data)


SMALL = Record("small", lambda **given: given, (Column("_F", "f", "string"),))


def small(avro: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [VERSION, field("_F", "string"), field("_X", avro)]}


def test_counts_of_records_that_lie() -> None:
    schema = {"type": "record", "name": "r", "fields": [VERSION, field("_F", "string")]}
    block = 3 * (varint(2) + varint(1) + b"a")
    assert decode(raw_file(schema, (3, block)), SMALL) == 3 * [{"f": "a"}]
    for count in (2, 0, -1, -(2**62), 4, 2**62):
        with pytest.raises(CorruptFileError, match=PATH):
            decode(raw_file(schema, (count, block)), SMALL)


@pytest.mark.parametrize("length", [-1, 100, 2**31, 2**40, 2**62])
@pytest.mark.parametrize(
    "avro", ["string", "bytes", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}], ids=str
)
def test_lengths_that_lie_take_no_memory(avro: Any, length: int) -> None:
    data = raw_file(small(avro), (1, varint(2) + varint(0) + varint(length)))
    with pytest.raises(CorruptFileError, match=PATH):
        decode(data, SMALL)


@pytest.mark.parametrize(
    "avro",
    [
        {"type": "array", "items": "null"},
        {"type": "array", "items": {"type": "record", "name": "e", "fields": []}},
        {"type": "array", "items": {"type": "record", "name": "e", "fields": [field("n", "null")]}},
        {"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}},
        {"type": "array", "items": {"type": "fixed", "name": "f", "size": -1}},
        ["null", {"type": "array", "items": {"type": "null"}}],
        {"type": "map", "values": {"type": "array", "items": "null"}},
    ],
    ids=str,
)
def test_arrays_of_nothing_could_take_all_memory(avro: Any) -> None:
    data = raw_file(small(avro), (1, varint(2) + varint(0) + varint(2**40) + varint(0)))
    start = time.thread_time()
    with pytest.raises(UnreadableFileError, match=PATH):
        decode(data, SMALL)
    assert time.thread_time() - start < 1


def test_recursive_types_could_take_all_of_the_stack() -> None:
    deep = raw_file(small(["null", "r"]), (1, 1_000_000 * (varint(2) + varint(0) + varint(1))))
    with pytest.raises(UnreadableFileError, match=f"{PATH}.*type 'r' of its schema contains itself"):
        decode(deep, SMALL)


def test_schemas_nested_without_end() -> None:
    for depth in (100, 900, 100_000):
        avro = b'{"type": "array", "items": ' * depth + b'"int"' + b"}" * depth
        text = json.dumps(small("int")).encode().replace(b'{"name": "_X", "type": "int"}', b"@")
        data = raw_file(text.replace(b"@", b'{"name": "_X", "type": ' + avro + b"}"), (1, b"broken"))
        with pytest.raises(UnreadableFileError, match=PATH):
            decode(data, SMALL)


def test_a_block_that_does_not_unpack() -> None:
    raw = varint(2) + varint(1) + b"a"
    schema = {"type": "record", "name": "r", "fields": [VERSION, field("_F", "string")]}
    packed = zlib.compress(raw, wbits=-15)
    assert decode(raw_file(schema, (1, packed), codec="deflate"), SMALL) == [{"f": "a"}]
    for codec, block in (("deflate", raw), ("zstandard", raw), ("zstandard", packed)):
        with pytest.raises(CorruptFileError, match=PATH):
            decode(raw_file(schema, (1, block), codec=codec), SMALL)


def test_a_codec_that_is_unknown_here_is_unfamiliar() -> None:
    schema = {"type": "record", "name": "r", "fields": [VERSION, field("_F", "string")]}
    for codec in ("lz4", "brotli", "unheard-of"):
        with pytest.raises(UnfamiliarFormError, match=rf"{PATH} has a form .*codec '{codec}' is not one of null"):
            decode(raw_file(schema, (1, b""), codec=codec), SMALL)
