"""Avro records as Python values: fastavro codes all records of a block in one call.

An array of records is coded as their number, the records, and an end. So a block's content between the two is an array,
and no record costs a call of its own. Source: Avro specification, "Binary Encoding".
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
    """Codes the records of an Avro schema. Raises `ValueError` for what is no Avro schema, and for records that take no
    bytes: they could be any number."""

    def __init__(self, avro: Any) -> None:
        array = {"type": "array", "items": avro}
        parse_type(array)
        try:
            self._array = fastavro.parse_schema(array)
        except Exception as e:  # whatever fastavro makes of it
            raise ValueError(f"its schema is no Avro schema ({reason(e)})") from e

    def encode(self, records: list[Any]) -> bytes:
        """The content of a block."""
        coded = io.BytesIO()
        fastavro.schemaless_writer(coded, self._array, records)
        return coded.getvalue()[len(encode_varint(zigzag(len(records)))) : -len(_END_OF_ARRAY)] if records else b""

    def decode(self, count: int, content: bytes) -> list[Any]:
        """The records of a block. Raises `ValueError` where the content is not exactly `count` of them."""
        if not count and not content:
            return []
        coded = io.BytesIO(encode_varint(zigzag(count)) + content + _END_OF_ARRAY)
        try:
            records: list[Any] = fastavro.schemaless_reader(coded, self._array, None)
        except Exception as e:  # fastavro raises what the bytes happen to trip over
            raise ValueError(f"a block holds no records of its schema ({reason(e)})") from e
        if len(records) != count or coded.read(1):
            raise ValueError("a block holds other records than it says")
        return records


def _plain(avro: Any) -> Any:
    """A schema whose types mean nothing but themselves."""
    if isinstance(avro, list):
        return [_plain(part) for part in avro]
    if not isinstance(avro, dict):
        return avro
    return {k: _plain(v) if k in ("type", "items", "values", "fields") else v for k, v in avro.items() if k != _MEANING}


def write_records(avro: Any, records: Iterable[Any], codec: str, about: Mapping[str, str] | None = None) -> bytes:
    """A container of records in blocks of about 16 KB; `about` is what else its header says."""
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(avro), records, codec="null", metadata=about)
    # fastavro knows snappy with a package of its own only, and gives frames of zstandard no checksum
    return recoded(sink.getvalue(), codec)


def read_records(container: ContainerReader, *, plain: bool = False) -> Iterator[Any]:
    """The records of a metadata file, bounded, as Python values; of `plain` ones dates and their like are as they are
    stored. Raises `ValueError`."""
    codec = RecordCodec(_plain(container.schema) if plain else container.schema)
    for count, content in container.bounded():
        yield from codec.decode(count, content)
