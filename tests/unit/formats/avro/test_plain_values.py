"""A few Avro values are decoded without fastavro: the values are the same, and so are the errors."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import fastavro
import pytest

from paimon_core.formats.avro.plain_values import PlainValues

PLAIN = {
    "type": "record",
    "name": "n0",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "some", "type": ["null", "int"]},
        {"name": "text", "type": "string"},
        {"name": "content", "type": ["bytes", "null"]},
        {"name": "list", "type": {"type": "array", "items": ["null", "long"]}},
        {"name": "of", "type": {"type": "record", "name": "n1", "fields": [{"name": "is", "type": "boolean"}]}},
        {"name": "real", "type": "double"},
        {"name": "short", "type": "float"},
        {"name": "four", "type": {"type": "fixed", "name": "n2", "size": 4}},
    ],
}


def value(number: int, some: int | None, text: str, content: bytes | None, items: list[int | None]) -> dict[str, Any]:
    rest = {"of": {"is": bool(number)}, "real": number / 3, "short": 0.5, "four": b"four"}
    return {"number": number, "some": some, "text": text, "content": content, "list": items, **rest}


VALUES = [
    value(0, None, "", b"", []),
    value(-1, 63, "é", None, [None, 64, -64, -65]),
    value(2**63 - 1, -(2**31), "a" * 200, b"\xff" * 70, list(range(100))),
    value(-(2**63), 2**31 - 1, "x", b"x", [-(2**63), 2**63 - 1]),
]


def coded(values: list[dict[str, Any]]) -> bytes:
    out, schema = io.BytesIO(), fastavro.parse_schema(PLAIN)
    for v in values:
        fastavro.schemaless_writer(out, schema, v)
    return out.getvalue()


@pytest.mark.parametrize("values", [VALUES, VALUES[:1], [], 200 * VALUES], ids=["all", "one", "none", "many"])
def test_values_are_those_of_fastavro(values: list[dict[str, Any]]) -> None:
    content = coded(values)
    source, schema = io.BytesIO(content), fastavro.parse_schema(PLAIN)
    expected = [fastavro.schemaless_reader(source, schema, None) for _ in values]
    assert PlainValues(PLAIN).decode(len(values), content) == expected


def test_an_array_may_have_several_blocks_and_their_sizes() -> None:
    two_blocks = b"\x03\x04\x02\x04\x02\x06\x00"  # -2 items in 2 bytes: 1, 2; then 1 item: 3
    assert PlainValues({"type": "array", "items": "int"}).decode(1, two_blocks) == [[1, 2, 3]]


@pytest.mark.parametrize("index", range(len(VALUES)))
def test_content_that_ends_early_is_refused(index: int) -> None:
    content, values = coded(VALUES[index : index + 1]), PlainValues(PLAIN)
    for end in range(len(content)):
        with pytest.raises(ValueError, match="a block does not decode by the file's schema"):
            values.decode(1, content[:end])


@pytest.mark.parametrize(
    ("avro", "content", "problem"),
    [
        ("int", b"\x02\x02", "is not exactly the number of records"),
        ("bytes", b"\x01", "ends within a value"),  # a negative length
        ("string", b"\x02\xff", "does not decode"),
        (["null", "int"], b"\x04\x02", "has no branch 2"),
        (["null", "int"], b"\x01", "has no branch -1"),
        ("long", b"\xff" * 11, "does not end"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\x0f\x00", "does not decode"),  # 2 ** 31 items
    ],
)
def test_other_bytes_are_refused(avro: Any, content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        PlainValues(avro).decode(1, content)


def test_few_values_do_not_import_fastavro() -> None:
    program = (
        "import sys; from paimon_core.formats.avro.plain_values import PlainValues; "
        "print(PlainValues('int').decode(2, b'\\x02\\x04'), 'fastavro' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 2] False\n"
