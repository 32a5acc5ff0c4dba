"""Avro records as Python values: fastavro codes all records of a block in one call.

Avro codes an array of records as their number, the records, and an end mark. So a block's content between a number and
an end mark is an array, and one call decodes all of its records. Source: Avro specification, "Binary Encoding".
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import fastavro

from paimon_core.errors import reason
from paimon_core.formats.avro.container import ContainerReader, recoded
from paimon_core.spec.avro_types import parse_type
from paimon_core.spec.encodings.varints import encode_varint, zigzag

_END_OF_ARRAY = b"\0"
_MEANING = "logicalType"


class RecordCodec:
    """Encodes and decodes the records of an Avro schema.

    Raises `ValueError` for an invalid Avro schema, and for records without any bytes: a few bytes could then announce
    any number of records."""

    def __init__(self, avro: Any) -> None:
        array = {"type": "array", "items": avro}
        parse_type(array)
        try:
            self._array = fastavro.parse_schema(array)
        except Exception as e:  # fastavro raises various exceptions
            raise ValueError(f"its schema is not a valid Avro schema ({reason(e)})") from e

    def encode(self, records: list[Any]) -> bytes:
        """Return the content of a block."""
        coded = io.BytesIO()
        fastavro.schemaless_writer(coded, self._array, records)
        return coded.getvalue()[len(encode_varint(zigzag(len(records)))) : -len(_END_OF_ARRAY)] if records else b""

    def decode(self, count: int, content: bytes) -> list[Any]:
        """Return the records of a block. Raises `ValueError` if the content is not exactly `count` records."""
        if not count and not content:
            return []
        coded = io.BytesIO(encode_varint(zigzag(count)) + content + _END_OF_ARRAY)
        try:
            records: list[Any] = fastavro.schemaless_reader(coded, self._array, None)
        except Exception as e:  # fastavro raises any exception, depending on the bytes
            raise ValueError(f"a block does not decode by the file's schema ({reason(e)})") from e
        if len(records) != count or coded.read(1):
            raise ValueError("the content of a block is not exactly the number of records it announces")
        return records


def _plain(avro: Any) -> Any:
    """Return the schema without logical types."""
    if isinstance(avro, list):
        return [_plain(part) for part in avro]
    if not isinstance(avro, dict):
        return avro
    return {k: _plain(v) if k in ("type", "items", "values", "fields") else v for k, v in avro.items() if k != _MEANING}


def write_records(avro: Any, records: Iterable[Any], codec: str, about: Mapping[str, str] | None = None) -> bytes:
    """Return a container of records in blocks of about 16 KB. `about` is more metadata for its header."""
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(avro), records, codec="null", metadata=about)
    # fastavro needs another package for snappy, and writes zstandard frames without a checksum
    return recoded(sink.getvalue(), codec)


def read_records(container: ContainerReader, *, plain: bool = False) -> Iterator[Any]:
    """Yield the records of a metadata file as Python values, within the limits of `ContainerReader.bounded`. Raises
    `ValueError`.

    With `plain`, logical types such as dates are returned as they are stored."""
    codec = RecordCodec(_plain(container.schema) if plain else container.schema)
    for count, content in container.bounded():
        yield from codec.decode(count, content)
