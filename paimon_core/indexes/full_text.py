"""Full-text index files, made and searched by the library `paimon-ftindex`, as Paimon's Java connector does.

    "PFTIDX01" | version: int32 | size of the header: int32 (big endian) | header: JSON | the files of a Tantivy index

The header has the names, offsets and sizes of the files, and the number of texts. Each file but the JSON files ends
with its checksum. All checksums are compared before native code reads a file, because damaged bytes could make it crash
or run forever.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyroaring import BitMap64

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnfamiliarFormError
from paimon_core.indexes.global_index.block_codecs import Fetch, read_part
from paimon_core.indexes.global_index.blocks import WITHOUT, BlockHandle, damaged
from paimon_core.optional_packages import import_optional
from paimon_core.spec.json_object import decode_json_object
from paimon_core.spec.kinds import TEXTS
from paimon_core.spec.types import DataField

FULL_TEXT = "full-text"
_OPTIONS = f"{FULL_TEXT}."
_MAGIC, _HEAD, _VERSION = b"PFTIDX01", struct.Struct(">8sii"), 1
_FOOTER, _FOOTER_MAGIC = struct.Struct("<II"), 1337  # at the end of Tantivy's files
_OF_QUERY = ("json error", "invalid query")  # messages of the library that begin so are about the query
_BLOCK = 2**24
_MOST_QUERY = 2**14  # characters: the library compares each word with all words of an index
_MOST_GRAM, _MOST_NUMBER = 32, 2**12  # the lengths of parts of words, and every other number in the settings
Found = tuple[NDArray[np.int64], NDArray[np.float32]]


@dataclass(frozen=True)
class TextQuery:
    """A search in a column of texts: a query in the library's JSON, and the number of rows to return. `settings` are
    the settings of the index that is made for rows without one.
    """

    column: str
    text: str
    limit: int
    settings: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(field: DataField, text: str, limit: int, options: Mapping[str, str]) -> TextQuery:
        """Return a query on a column. Raises `InvalidOptionError` for a query, limit or column that does not fit,
        `UnsupportedFeatureError` if the library is not installed."""
        check_texts(field, "has no texts to search in")
        if limit < 1:
            raise InvalidOptionError(f"A search cannot return {limit} rows: ask for 1 row or more.")
        if len(text) > _MOST_QUERY:
            raise InvalidOptionError(
                f"A search for texts cannot have {len(text)} characters: use at most {_MOST_QUERY}."
            )
        _search(_index({}, pa.chunked_array([], pa.string()), np.zeros(0, np.int64)), text, 1, None)
        return TextQuery(field.name, text, limit, tuple(sorted(text_settings(options).items())))


def check_texts(field: DataField, what: str) -> None:
    """Raise `InvalidOptionError` if a column is not STRING, VARCHAR or CHAR."""
    if field.type.kind not in TEXTS:
        raise InvalidOptionError(f"Column {field.name!r} of type {field.type.sql()} {what}: name a STRING column.")


def text_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the library among options: those that begin with `full-text.`."""
    return {k.removeprefix(_OPTIONS): v for k, v in options.items() if k.startswith(_OPTIONS)}


def check_settings(settings: Mapping[str, str]) -> None:
    """Raise `InvalidOptionError` for settings with which the library would need hours for a few texts. The settings may
    come from an index file, or from table options of another user.
    """
    for key, value in settings.items():
        most = _MOST_GRAM if "gram" in key else _MOST_NUMBER
        if value.strip().lstrip("+").isdecimal() and int(value.strip()) > most:
            raise InvalidOptionError(
                f"The setting {_OPTIONS}{key} of an index of texts cannot be {value}: use at most {most}."
            )


def encode_full_text(settings: Mapping[str, str], texts: pa.ChunkedArray, rows: NDArray[np.int64]) -> bytes:
    """Return the bytes of an index of texts, which may be NULL, and their rows.

    Raises `InvalidOptionError` for invalid settings, `UnsupportedFeatureError` if the library is not installed."""
    try:
        return _index(settings, texts, rows)
    except RuntimeError as e:
        shown = ", ".join(f"{_OPTIONS}{k} = {v}" for k, v in sorted(settings.items())) or "no settings"
        raise InvalidOptionError(f"An index of texts with {shown} cannot be made: {e}.") from e


def search_full_text(
    path: str, size: int, rows: int, fetch: Fetch, query: TextQuery, allowed: NDArray[np.bool_] | None
) -> Found:
    """Search an index file of `size` bytes for `rows` rows. Return the best matches among the `allowed` rows (None: all
    rows), and their scores.

    Raises `CorruptFileError`, `UnfamiliarFormError`, `InvalidOptionError` for a query that the index cannot answer,
    such as phrases without positions; `UnsupportedFeatureError` if the library is not installed, and the errors of
    reading.
    """
    data = read_part(path, fetch, BlockHandle(0, size))
    count = _checked(path, data, rows)
    limit = min(query.limit, count if allowed is None else int(allowed.sum()))
    if not limit:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    try:
        ids, scores = _search(data, query.text, limit, allowed)
    except RuntimeError as e:
        raise damaged(path, f"the library cannot search it ({e})") from e
    if len(ids) and not 0 <= ids.min() <= ids.max() < rows:
        raise damaged(path, "it has other rows than its manifest entry")
    return ids, scores


def search_texts(query: TextQuery, texts: pa.ChunkedArray) -> Found:
    """Return the positions of the texts that match a query, and their scores, by a temporary index of the texts. Raises
    the same errors as `encode_full_text`.
    """
    if not len(texts):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    data = encode_full_text(dict(query.settings), texts, np.arange(len(texts), dtype=np.int64))
    return _search(data, query.text, min(query.limit, len(texts)), None)


def full_text_library() -> Any:
    """Return the library. Raises `UnsupportedFeatureError` if it is not installed."""
    return import_optional("paimon_ftindex", "A full-text index", "fulltext")


def _index(settings: Mapping[str, str], texts: pa.ChunkedArray, rows: NDArray[np.int64]) -> bytes:
    check_settings(settings)
    file, start = io.BytesIO(), 0
    with _opened(full_text_library().FullTextIndexWriter, dict(settings)) as writer:
        for chunk in texts.chunks:
            # The library takes one text a call, as a C string, which ends at a zero.
            spaced = pc.replace_substring(chunk.cast(pa.string()), "\0", " ")
            for row, text in zip(rows[start : start + len(chunk)].tolist(), spaced.to_pylist(), strict=True):
                if text is not None:
                    writer.add_document(row, text)
            start += len(chunk)
        writer.write(file)
    return file.getvalue()


def _search(data: bytes, text: str, limit: int, allowed: NDArray[np.bool_] | None) -> Found:
    chosen = None if allowed is None else BitMap64(np.flatnonzero(allowed)).serialize()
    try:
        with _opened(full_text_library().FullTextIndexReader, _Bytes(data)) as reader:
            ids, scores = reader.search(text.replace("\0", " "), limit, chosen)
    except RuntimeError as e:
        if not str(e).startswith(_OF_QUERY):
            raise
        raise InvalidOptionError(
            f"A search for texts cannot be {text[:200]!r} ({e}): write it as "
            """'{"match": {"query": "some words"}}', or see the documentation of Paimon's full-text index."""
        ) from e
    return np.asarray(ids, dtype=np.int64), np.asarray(scores, dtype=np.float32)


@dataclass(frozen=True)
class _Bytes:
    """The input of the library: bytes of a file."""

    data: bytes

    def pread(self, position: int, size: int) -> bytes:
        return self.data[position : position + size]


def _opened(kind: Any, argument: object) -> Any:
    """Return a new object of the library. If its constructor fails, set the member that the library's destructor then
    reads.
    """
    made = kind.__new__(kind)
    made._ptr = None
    made.__init__(argument)
    return made


def _checked(path: str, data: bytes, rows: int) -> int:
    """Return the number of texts in an index file. Raises `CorruptFileError`, `UnfamiliarFormError`."""
    if len(data) < _HEAD.size:
        raise damaged(path, f"it has {len(data)} bytes, fewer than a header has")
    magic, version, length = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise damaged(path, f"it begins with {magic!r}, not {_MAGIC!r}")
    if version != _VERSION:
        raise UnfamiliarFormError(path, f"as an index of type {FULL_TEXT}, its version is {version}", WITHOUT)
    start = _HEAD.size + length
    if length < 0 or start > len(data):
        raise damaged(path, f"its header of {length} bytes is longer than the file")
    head = decode_json_object(path, data[_HEAD.size : start])
    try:
        count = int(head["metadata"]["document_count"])
        files = [(str(f["name"]), int(f["offset"]), int(f["length"])) for f in head["files"]]
    except (KeyError, TypeError, ValueError, OverflowError) as e:
        raise damaged(path, "its header does not list its files") from e
    if not 0 <= count <= rows:
        raise damaged(path, f"its header has {count} texts, for {rows} rows")
    for name, offset, size in files:
        if not 0 <= offset <= offset + size <= len(data) - start:
            raise damaged(path, f"its file {name!r} lies outside of it")
        _check_sum(path, name, memoryview(data)[start + offset : start + offset + size])
    return count


def _check_sum(path: str, name: str, part: memoryview) -> None:
    """Compare the checksum at the end of a file of Tantivy's."""
    try:
        if name.endswith(".json"):
            json.loads(bytes(part))
            return
        size, magic = _FOOTER.unpack(part[-_FOOTER.size :])
        end = len(part) - _FOOTER.size - size
        said = json.loads(bytes(part[end : -_FOOTER.size]))["crc"] if magic == _FOOTER_MAGIC and end >= 0 else None
    except (ValueError, RecursionError, KeyError, TypeError, struct.error) as e:
        raise damaged(path, f"its file {name!r} does not end with a checksum") from e
    found = 0
    for start in range(0, max(end, 0), _BLOCK):
        found = zlib.crc32(part[start : min(start + _BLOCK, end)], found)
    if said != found:
        raise damaged(path, f"the checksum of its file {name!r} is {found:08x}, not {said}")
