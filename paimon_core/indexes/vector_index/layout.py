"""The headers of vector index files, and the bounds of their lists: a file is searched only if both fit its size.

    header, 64 bytes | sections of sizes that follow from the header | table: of each list the offset: int64,
    vectors: int32, bytes of ids: int32 | lists

`diskann` has another header, 256 bytes, with the places of seven sections. All numbers are little endian. These files
have no checksum. Source: apache/paimon-vector-index, `STORAGE_FORMAT.md`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.indexes.global_index.block_codecs import Fetch, read_part
from paimon_core.indexes.global_index.blocks import WITHOUT, BlockHandle, damaged

CODED_METRICS = ("l2", "inner_product", "cosine")
IVF_FLAT, IVF_PQ, IVF_SQ, IVF_RQ, DISKANN = "ivf-flat", "ivf-pq", "ivf-sq", "ivf-rq", "diskann"
VECTOR_INDEXES = (IVF_FLAT, IVF_PQ, IVF_SQ, IVF_RQ, DISKANN)
TABLE = np.dtype([("offset", "<i8"), ("count", "<i4"), ("id_bytes", "<i4")])
_VERSION = 1
_MOST_LENGTH = 2**20
_Numbers = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Form:
    """The header of a kind of files with lists, and the sizes in bytes that follow from it.

    `sections` lie between the header and the table. A list has `per_list` bytes, `per_vector` bytes for each vector,
    and its ids.
    """

    magic: bytes
    header: struct.Struct
    names: tuple[str, ...]
    sections: Callable[[_Numbers], int]
    per_list: int
    per_vector: Callable[[_Numbers], int]


def _form(
    magic: bytes,
    layout: str,
    names: str,
    sections: Callable[[_Numbers], int],
    per_list: int,
    per: Callable[[_Numbers], int],
) -> _Form:
    return _Form(magic, struct.Struct(layout), tuple(names.split()), sections, per_list, per)


_FORMS: Mapping[str, _Form] = MappingProxyType(
    {
        IVF_FLAT: _form(
            b"LFVI",
            "<IiiIqI32x",
            "version length lists metric count flags",
            lambda h: 4 * h["lists"] * h["length"],
            12,
            lambda h: 4 * h["length"],
        ),
        IVF_PQ: _form(
            b"QPVI",
            "<IiiiiiIqI20x",
            "version length lists parts codes part metric count flags",
            lambda h: 4 * (h["lists"] * h["length"] + h["codes"] * h["length"] + (h["flags"] & 1) * h["length"] ** 2),
            12,
            lambda h: h["parts"] if h["codes"] > 16 else -(-h["parts"] // 2),
        ),
        IVF_SQ: _form(
            b"QSVI",
            "<IiiIqII28x",
            "version length lists metric count bits flags",
            lambda h: 4 * (2 * h["length"] + 3 * h["lists"] * h["length"]),
            12,
            lambda h: h["length"],
        ),
        IVF_RQ: _form(
            b"QRVI",
            "<IiiiIIIq24x",
            "version length padded lists metric flags bits count",
            lambda h: 4 * h["lists"] * h["length"],
            16,
            lambda h: h["bits"] * h["padded"] // 8 + 4 * (2 if h["bits"] == 1 else 5),
        ),
    }
)
HEADER_SIZE, _MAGIC_SIZE = 64, 4
_DISKANN_MAGIC, _DISKANN_HEADER = b"DANN", struct.Struct("<IIIIIQIIIfQIIIIIIIIQ14Q")


@dataclass(frozen=True, slots=True)
class VectorIndexHead:
    """The header of a file. `table` has the lists, and is empty for `diskann`; the first list is at `lists_offset`."""

    length: int
    metric: str
    count: int
    table_offset: int
    table: NDArray[np.void]

    @property
    def lists_offset(self) -> int:
        return self.table_offset + self.table.nbytes


def decode_vector_head(path: str, kind: str, size: int, rows: int, fetch: Fetch) -> VectorIndexHead:
    """Read the header and the table of lists of a file of `size` bytes with vectors of at most `rows` rows.

    Raises `CorruptFileError` if something lies outside of the file, `UnfamiliarFormError` for another version.
    """
    if kind == DISKANN:
        return _diskann_head(path, size, rows, fetch)
    form = _FORMS[kind]
    head = dict(zip(form.names, form.header.unpack(_header(path, form.magic, size, HEADER_SIZE, fetch)), strict=True))
    _check_version(path, kind, head["version"])
    if any(head[name] < 1 for name in form.names if name not in ("metric", "count", "flags")) or _is_odd(kind, head):
        raise damaged(path, f"its header has impossible numbers: {_shown(head)}")
    _check_numbers(path, head["length"], head["metric"], head["count"], rows)
    table_offset = HEADER_SIZE + form.sections(head)
    if table_offset + head["lists"] * TABLE.itemsize > size:
        raise damaged(path, f"its header has the numbers {_shown(head)}, too many for {size} bytes")
    data = read_part(path, fetch, BlockHandle(table_offset, head["lists"] * TABLE.itemsize))
    found = VectorIndexHead(
        head["length"], CODED_METRICS[head["metric"]], head["count"], table_offset, np.frombuffer(data, TABLE)
    )
    _check_table(path, found, size, form.per_list, form.per_vector(head))
    return found


def _check_table(path: str, head: VectorIndexHead, size: int, per_list: int, per_vector: int) -> None:
    offsets, counts, id_bytes = (head.table[name].astype(np.int64) for name in ("offset", "count", "id_bytes"))
    filled = counts != 0
    ends = offsets + per_list + id_bytes + counts * per_vector
    inside = (counts >= 0) & (id_bytes >= counts) & (offsets >= head.lists_offset) & (offsets <= size) & (ends <= size)
    if not (inside | ~filled).all() or counts.sum() != head.count:
        raise damaged(path, f"its lists lie outside of its {size} bytes, or do not have {head.count} vectors")


def _diskann_head(path: str, size: int, rows: int, fetch: Fetch) -> VectorIndexHead:
    """Read the header of a `diskann` file, and check the places of its sections."""
    whole = _MAGIC_SIZE + _DISKANN_HEADER.size + 48
    numbers = _DISKANN_HEADER.unpack_from(_header(path, _DISKANN_MAGIC, size, whole, fetch))
    version, header_size, _, length, metric, count = numbers[:6]
    _check_version(path, DISKANN, version)
    _check_numbers(path, length, metric, count, rows)
    parts, places = numbers[11], numbers[20:]
    ends = [offset + taken for offset, taken in zip(places[::2], places[1::2], strict=True)]
    if header_size != whole or numbers[19] != size or max(ends) > size or not 0 < parts <= length or not count:
        raise damaged(path, f"its header has {count} vectors and sections up to byte {max(ends)} of {size}")
    return VectorIndexHead(length, CODED_METRICS[metric], count, size, np.zeros(0, TABLE))


def _header(path: str, magic: bytes, size: int, header_size: int, fetch: Fetch) -> bytes:
    """Return the header without its magic number."""
    if size < header_size:
        raise damaged(path, f"it has {size} bytes, fewer than a header has")
    data = read_part(path, fetch, BlockHandle(0, header_size))
    if data[:_MAGIC_SIZE] != magic:
        raise damaged(path, f"it begins with {data[:_MAGIC_SIZE]!r}, not {magic!r}")
    return data[_MAGIC_SIZE:]


def _check_version(path: str, kind: str, version: int) -> None:
    if version != _VERSION:
        raise UnfamiliarFormError(path, f"as an index of type {kind}, its version is {version}", WITHOUT)


def _check_numbers(path: str, length: int, metric: int, count: int, rows: int) -> None:
    if not 0 < length <= _MOST_LENGTH or metric >= len(CODED_METRICS) or not 0 <= count <= rows:
        raise damaged(path, f"its header has {count} vectors of {length} numbers by metric {metric}, for {rows} rows")


def _is_odd(kind: str, head: _Numbers) -> bool:
    """Return whether numbers of a header contradict each other."""
    if kind == IVF_PQ:
        return head["parts"] * head["part"] != head["length"] or head["codes"] not in (16, 256)
    if kind == IVF_RQ:
        return head["padded"] != -(-head["length"] // 64) * 64 or head["bits"] > 8
    return False


def _shown(head: _Numbers) -> str:
    return ", ".join(f"{name} {number}" for name, number in head.items())
