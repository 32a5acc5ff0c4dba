"""Changes of Avro files that know their structure: counts and sizes of blocks, records, codecs, schemas, bombs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import fastavro

from paimon_core.formats.avro.codecs import CODECS, decompress
from paimon_core.formats.avro.container import MAGIC, SYNC_SIZE
from paimon_core.formats.avro.packing import compress
from paimon_core.spec.encodings.varints import encode_varint, unzigzag, varint_at, zigzag
from tests.fuzz.files.bytes_changes import ANY, hostile_number
from tests.fuzz.files.json_changes import JSON

_METADATA = {"type": "map", "values": "bytes"}
_BOMB = 2**24  # bytes that a block unpacks to
_BOMBS = 24
_NESTED = 2000


@dataclass(frozen=True, slots=True)
class _Block:
    """A block: what it says of its records and its size, None for the truth, and its unpacked content."""

    count: int
    content: bytes
    size: int | None = None
    packed: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Container:
    """An Avro file taken apart."""

    metadata: dict[str, bytes]
    sync: bytes
    blocks: tuple[_Block, ...]

    @property
    def codec(self) -> str:
        return self.metadata.get("avro.codec", b"null").decode()


def _taken_apart(data: bytes) -> _Container:
    source = io.BytesIO(data)
    source.seek(len(MAGIC))
    metadata = fastavro.schemaless_reader(source, _METADATA, None)
    sync, offset, blocks = source.read(SYNC_SIZE), source.tell(), []
    while offset < len(data):
        count, offset = varint_at(data, offset)
        size, offset = varint_at(data, offset)
        packed = data[offset : offset + unzigzag(size)]
        offset += len(packed) + SYNC_SIZE
        blocks.append(_Block(unzigzag(count), decompress(metadata.get("avro.codec", b"null").decode(), packed)))
    return _Container(metadata, sync, tuple(blocks))


def _put_together(file: _Container, packing: str | None = None) -> bytes:
    """The file; blocks are packed by its codec, or another one than it says."""
    head = io.BytesIO()
    fastavro.schemaless_writer(head, _METADATA, file.metadata)
    parts = [MAGIC, head.getvalue(), file.sync]
    for block in file.blocks:
        packed = compress(packing or file.codec, 1, block.content) if block.packed is None else block.packed
        size = len(packed) if block.size is None else block.size
        parts += [_number(block.count), _number(size), packed, file.sync]
    return b"".join(parts)


def _number(number: int) -> bytes:
    return encode_varint(zigzag(max(-(2**63), min(number, 2**63 - 1))))


def _changed_block(chance: Random, file: _Container, change: Callable[[_Block], _Block]) -> _Container:
    if not file.blocks:
        return file
    blocks, at = list(file.blocks), chance.randrange(len(file.blocks))
    blocks[at] = change(blocks[at])
    return replace(file, blocks=tuple(blocks))


def block_count(chance: Random, data: bytes) -> bytes:
    """Another number of records than there are."""
    file = _taken_apart(data)
    return _put_together(_changed_block(chance, file, lambda b: replace(b, count=hostile_number(chance, b.count))))


def block_size(chance: Random, data: bytes) -> bytes:
    file = _taken_apart(data)
    return _put_together(
        _changed_block(chance, file, lambda b: replace(b, size=hostile_number(chance, len(b.content))))
    )


def records(chance: Random, data: bytes) -> bytes:
    """Bytes of records changed, and packed again: lengths, numbers, counts of arrays, branches of unions."""
    file = _taken_apart(data)
    return _put_together(
        _changed_block(chance, file, lambda b: replace(b, content=chance.choice(ANY)(chance, b.content)))
    )


def blocks(chance: Random, data: bytes) -> bytes:
    """Blocks again, gone, or empty."""
    file = _taken_apart(data)
    made = (file.blocks * 3, file.blocks[1:], (*file.blocks, _Block(hostile_number(chance), b"")), file.blocks[::-1])
    return _put_together(replace(file, blocks=chance.choice(made)))


def codec(chance: Random, data: bytes) -> bytes:
    """Another codec than the one that packed the blocks, or one that there is not."""
    file = _taken_apart(data)
    named = chance.choice((*CODECS, "", "lzo", "\0", "zstd")).encode()
    return _put_together(replace(file, metadata=file.metadata | {"avro.codec": named}), file.codec)


def schema(chance: Random, data: bytes) -> bytes:
    """Another schema: the JSON changed, or a type that has no bound."""
    file = _taken_apart(data)
    old = file.metadata["avro.schema"]
    depth = chance.choice((40, 40, _NESTED))
    deep = '{"type":"array","items":' * depth + '"int"' + "}" * depth
    doubling = [{"type": "record", "name": "r0", "fields": [{"name": "a", "type": "null"}]}]
    doubling += [
        {"type": "record", "name": f"r{i}", "fields": [{"name": n, "type": f"r{i - 1}"} for n in "ab"]}
        for i in range(1, 40)
    ]
    recursive = {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]}
    known = json.loads(old)
    fields = known["fields"] if isinstance(known, dict) else []
    wide = {"type": "record", "name": "r", "fields": fields + [{"name": f"c{i}", "type": "int"} for i in range(3000)]}
    fixed = {"type": "record", "name": "r", "fields": [*fields, {"name": "z", "type": _fixed(chance)}]}
    made = (doubling, recursive, wide, fixed, {"type": "array", "items": "null"}, "null", [])
    texts = (deep, *map(json.dumps, made))
    new = chance.choice(JSON)(chance, old) if chance.random() < 0.7 else chance.choice(texts).encode()
    return _put_together(replace(file, metadata=file.metadata | {"avro.schema": new}))


def _fixed(chance: Random) -> dict[str, object]:
    return {"type": "fixed", "name": "z", "size": hostile_number(chance)}


def bomb(chance: Random, data: bytes) -> bytes:
    """Few bytes that unpack to many: blocks of zeros, in any codec."""
    file, named = _taken_apart(data), chance.choice(CODECS[1:])
    metadata = file.metadata | {"avro.codec": named.encode()}
    block = _Block(chance.choice((1, _BOMB, 2**40)), b"", packed=_zeros(named))
    kept = tuple(replace(b, packed=compress(named, 1, b.content)) for b in file.blocks)
    return _put_together(replace(file, metadata=metadata, blocks=kept + (block,) * chance.choice((1, _BOMBS))))


@cache
def _zeros(name: str) -> bytes:
    return compress(name, 1, bytes(_BOMB))


AVRO = (block_count, block_size, records, records, records, blocks, codec, schema, schema)
AVRO_BOMBS = (bomb,)
