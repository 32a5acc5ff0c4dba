"""The columns and chunks of a Parquet file, read from its footer without decoding all of the footer.

A footer begins with the schema. Footers of files of one writer begin with the same bytes, so a schema is decoded once:
`Shapes` compares the first bytes of a footer with the beginnings it has seen. The number of rows and the row groups
follow after the schema. A chunk's metadata has the encodings right before the name of the column, and the codec right
after it. Chunks are in the order of the columns. So the search for each name begins after the name before it, and the
whole search takes one pass over the footer. Thrift allows other spellings, which no known writer uses: such a footer is
decoded as a whole. Source: parquet-format, `parquet.thrift`, "FileMetaData", "SchemaElement", "ColumnMetaData"; Thrift,
"compact protocol".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import chain, repeat

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.formats.parquet.footer import (
    MAGIC,
    bytes_at,
    chunk_metadata,
    column_chunks,
    row_groups,
    schema_elements,
)
from paimon_core.formats.parquet.thrift import Fields, Items, checked_structure, decode, decode_at, encode
from paimon_core.lazy import regex
from paimon_core.spec.encodings.varints import unzigzag, varint_at

REQUIRED, OPTIONAL, REPEATED = range(3)
BOOLEAN, INT32, INT64, _, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)

_TAIL = 8  # bytes after a footer: its length, and the magic
_FIRST_READ = 2**14  # bytes at the end of a file: most footers are shorter
_MOST_SHAPES = 64
_DEEPEST = 64
_TYPE, _LENGTH, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _ID, _LOGICAL = range(1, 11)
_ENCODINGS, _PATH, _CODEC = 2, 3, 4  # ColumnMetaData
_ROWS_HEADER, _GROUPS_HEADER = 0x16, 0x19  # of the fields after the schema
_LONG_LIST = 15
# The type and the encodings of a chunk, which end where its path begins.
_BEFORE_PATH = regex(
    rb"\x15[\x00-\x0e]\x19([\x05\x15\x25\x35\x45\x55\x65\x75\x85\x95\xa5\xb5\xc5\xd5\xe5])([\x00-\x12]*)\Z"
)
_MOST_BEFORE = 18  # bytes of the type and the encodings
_CODEC_HEADER, _MOST_CODEC = 0x15, 0x7F  # of the codec, which follows the path
_UNITS = {1: "ms", 2: "us", 3: "ns"}
_CONVERTED_TYPES = {
    0: "string",
    1: "map",
    2: "map",
    3: "list",
    6: "date",
    7: "time(ms,utc)",
    8: "time(us,utc)",
    9: "timestamp(ms,utc)",
    10: "timestamp(us,utc)",
    11: "uint(8)",
    12: "uint(16)",
    13: "uint(32)",
    14: "uint(64)",
    15: "int(8)",
    16: "int(16)",
    17: "int(32)",
    18: "int(64)",
}
_LOGICAL_TYPES = {1: "string", 2: "map", 3: "list", 6: "date"}


@dataclass(frozen=True, slots=True)
class Element:
    """A column of a Parquet schema, or a part of one.

    `physical` is `None` for groups. `annotation` is the logical type as text: `decimal(10,2)`, `timestamp(us,local)`,
    `int(8)`, …; "" without one, "other" for a logical type that no Paimon type uses.
    """

    name: str
    field_id: int | None
    repetition: int
    physical: int | None
    length: int
    annotation: str
    children: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A schema: its columns, and the paths of its leaves as chunk metadata stores them."""

    columns: tuple[Element, ...]
    paths: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FileLook:
    """A summary of one file: its schema, its number of rows, and the codecs and encodings of all chunks, as numbers."""

    shape: Shape
    row_count: int
    codecs: frozenset[int]
    encodings: frozenset[int]

    def __len__(self) -> int:
        """Return the weight in a cache: 0 beside the path, because the shape is shared."""
        return 0


@dataclass(slots=True)
class Shapes:
    """A bounded cache of schemas, by the first bytes of footers, newest first."""

    known: tuple[tuple[bytes, Shape], ...] = field(default=())

    def of(self, footer: bytes) -> tuple[Shape, int]:
        """Return the schema of a footer, and the schema's number of bytes. Raises `ValueError`."""
        for start, shape in self.known:
            if footer.startswith(start):
                return shape, len(start)
        with checked_structure():
            start = _schema_bytes(footer)
            shape = _shape(decode(start + b"\x00"))
        self.known = ((start, shape), *self.known)[:_MOST_SHAPES]  # a lost race costs one more decoding
        return shape, len(start)


def look(source: pa.NativeFile, size: int, shapes: Shapes) -> FileLook:
    """Read the summary of a file of `size` bytes. Raises `ValueError` for a file that is not Parquet."""
    return _look(_footer(source, size), shapes)


def _footer(source: pa.NativeFile, size: int) -> bytes:
    start = max(len(MAGIC), size - _FIRST_READ)
    end = bytes(source.read_at(max(0, size - start), start))
    if len(end) < _TAIL or len(end) != size - start or end[-4:] != MAGIC:
        raise ValueError("it does not end as a Parquet file does")
    length = int.from_bytes(end[-_TAIL:-4], "little")
    if length > len(end) - _TAIL:
        return bytes_at(source, size - _TAIL - length, length)
    return end[len(end) - _TAIL - length : len(end) - _TAIL]


def _look(footer: bytes, shapes: Shapes) -> FileLook:
    shape, at = shapes.of(footer)
    with checked_structure():
        found = _quick_look(footer, at, shape)
        return _whole_look(footer, shape) if found is None else found


def _quick_look(footer: bytes, at: int, shape: Shape) -> FileLook | None:
    """Return the summary of a footer if its fields have the spelling of known writers, else None."""
    if footer[at] != _ROWS_HEADER:
        return None
    rows, at = varint_at(footer, at + 1)
    if footer[at] != _GROUPS_HEADER:
        return None
    groups, at = footer[at + 1] >> 4, at + 2
    if groups == _LONG_LIST:
        groups, at = varint_at(footer, at)
    if groups > len(footer):
        return None
    encodings, codecs = set[bytes](), set[int]()
    for path in chain.from_iterable(repeat(shape.paths, groups)):
        found = _chunk(footer, at, path)
        if found is None:
            return None
        encoded, codec, at = found
        encodings.add(encoded)
        codecs.add(codec >> 1)
    used = frozenset(number >> 1 for each in encodings for number in each)
    return FileLook(shape, unzigzag(rows), frozenset(codecs), used)


def _chunk(footer: bytes, at: int, path: bytes) -> tuple[bytes, int, int] | None:
    """Return the encodings and the codec of the next chunk of a path, and the offset after them, or None.

    Statistics may also contain the bytes of a path, so the bytes around the path are checked."""
    while (start := footer.find(path, at)) >= 0:
        at = start + len(path)
        before = _BEFORE_PATH.search(footer, max(0, start - _MOST_BEFORE), start)
        if before is None or before[1][0] >> 4 != len(before[2]) or footer[at] != _CODEC_HEADER:
            continue
        if footer[at + 1] <= _MOST_CODEC:
            return before[2], footer[at + 1], at + 2
    return None


def _whole_look(footer: bytes, shape: Shape) -> FileLook:
    file = decode(footer)
    chunks = [chunk_metadata(c) for g in row_groups(file) for c in column_chunks(g)]
    encodings = frozenset(number for c in chunks for number in c[_ENCODINGS][1].values)
    return FileLook(shape, file[3][1], frozenset(c[_CODEC][1] for c in chunks), encodings)


def _schema_bytes(footer: bytes) -> bytes:
    """Return the first two fields of a footer, the version and the schema. Raises `ValueError` for other fields."""
    if footer[:1] != b"\x15":
        raise ValueError("its footer does not begin with a version")
    _, at = varint_at(footer, 1)
    if footer[at] != 0x19:
        raise ValueError("its footer has no schema after the version")
    count, at = footer[at + 1] >> 4, at + 2
    if count == _LONG_LIST:
        count, at = varint_at(footer, at)
    if count > len(footer):
        raise ValueError("its schema is longer than its footer")
    rest = footer[at:]
    used = 0
    for _ in range(count):
        _, length = decode_at(rest[used:])
        used += length
    return footer[: at + used]


def _shape(file: Fields) -> Shape:
    elements = iter(schema_elements(file))
    root = _next(elements)
    columns = tuple(_element(elements, 0) for _ in range(root[_CHILDREN][1]))
    if next(elements, None) is not None:
        raise ValueError("its schema has more columns than it announces")
    return Shape(columns, tuple(_path_bytes(path) for column in columns for path in _leaves(column, ())))


def _next(elements: Iterator[Fields]) -> Fields:
    element = next(elements, None)
    if element is None:
        raise ValueError("its schema has fewer columns than it announces")
    return element


def _element(elements: Iterator[Fields], depth: int) -> Element:
    if depth > _DEEPEST:
        raise ValueError("its schema is nested too deeply")
    element = _next(elements)
    number = {key: element[key][1] for key in (_TYPE, _LENGTH, _REPETITION, _ID, _CHILDREN) if key in element}
    children = tuple(_element(elements, depth + 1) for _ in range(number.get(_CHILDREN, 0)))
    return Element(
        name=element[_NAME][1].decode(),
        field_id=number.get(_ID),
        repetition=number.get(_REPETITION, REQUIRED),
        physical=None if children else number.get(_TYPE),
        length=number.get(_LENGTH, 0),
        annotation=_annotation(element),
        children=children,
    )


def _annotation(element: Fields) -> str:
    if _LOGICAL in element:
        ((kind, (_, parts)),) = element[_LOGICAL][1].items()
        match kind:
            case 5:
                return f"decimal({parts[2][1]},{parts[1][1]})"
            case 7 | 8:
                unit = next(iter(parts[2][1]))
                return f"{'time' if kind == 7 else 'timestamp'}({_UNITS[unit]},{'utc' if parts[1][1] else 'local'})"
            case 10:
                return f"{'int' if parts[2][1] else 'uint'}({parts[1][1][0]})"
        return _LOGICAL_TYPES.get(kind, "other")
    if _CONVERTED not in element:
        return ""
    converted = element[_CONVERTED][1]
    if converted == 5:
        scale = element[_SCALE][1] if _SCALE in element else 0
        return f"decimal({element[_PRECISION][1]},{scale})"
    return _CONVERTED_TYPES.get(converted, "other")


def _leaves(element: Element, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    path = (*above, element.name)
    if element.children:
        for child in element.children:
            yield from _leaves(child, path)
    else:
        yield path


def _path_bytes(path: tuple[str, ...]) -> bytes:
    """Return a path as a field of chunk metadata, in which it follows the encodings."""
    return encode({_PATH: (9, Items((8,), [name.encode() for name in path]))})[:-1].replace(b"\x39", b"\x19", 1)
