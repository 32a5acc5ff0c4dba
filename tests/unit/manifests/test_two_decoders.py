"""Manifests are decoded by columns or entry by entry: both accept the same files, with the same entries."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import timedelta
from functools import reduce
from operator import getitem
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import PaimonError, UnfamiliarFormError
from paimon_core.formats.avro.codecs import InflatedError
from paimon_core.formats.avro.container import SYNC_SIZE, ContainerReader, ContainerWriter
from paimon_core.formats.avro.field_offsets import UnusualError
from paimon_core.manifests.entries import EntryColumns
from paimon_core.manifests.record_files import decode_file, encode_avro
from paimon_core.manifests.vectorized import find_entries
from paimon_core.spec.manifest import ENTRY_VERSION, MANIFEST_ENTRY, ManifestEntry
from paimon_core.spec.records import Column, Record
from tests.support.damage import damaged
from tests.support.examples import examples
from tests.support.golden import GOLDEN
from tests.support.golden_files import manifests

PATH = "db.db/t/manifest/manifest-1"
ENTRIES = list(max((m for m in manifests().values() if len(m) < 20), key=lambda m: len({e.file.level for e in m})))
SMALL = sorted((m for m in manifests().values() if 0 < len(m) < 20), key=len)[-20:]
CONTENT = encode_avro(MANIFEST_ENTRY, ENTRY_VERSION, ENTRIES, "null")
REFUSED = "refused"


def by_columns(data: bytes) -> Any:
    """The entries, `REFUSED`, or None where the file has to be decoded entry by entry."""
    try:
        found = find_entries(PATH, data)
        columns = EntryColumns(found, len(found))
        return columns.entries(np.arange(len(columns)))
    except UnusualError:
        return None
    except (PaimonError, InflatedError):
        return REFUSED


def one_by_one(data: bytes) -> Any:
    try:
        return list(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, PATH, data))
    except PaimonError as e:
        assert PATH in str(e)
        return REFUSED


def avro_columns(record: Record[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Column]]:
    for column in record.columns:
        yield (*path, column.name), column
        if column.record is not None:
            yield from avro_columns(column.record, (*path, column.name))


COLUMNS = dict(avro_columns(MANIFEST_ENTRY)) | {("_VERSION",): Column("_VERSION", "version", "int")}
OF_OTHER_TYPES = {"int": "string", "long": "bytes", "bytes": "long", "string": "int"}


def with_field(path: tuple[str, ...], change: Callable[[list[Any], int], None], *, null: bool = False) -> bytes:
    """The manifest by a writer of another schema: `change` gets the fields of a record and the index of one. With
    `null`, the last entry has NULL there."""
    reader = fastavro.reader(io.BytesIO(CONTENT))
    records, schema = list(reader), deepcopy(reader.writer_schema)
    fields = schema["fields"]
    for name in path[:-1]:
        fields = next(f["type"] for f in fields if f["name"] == name)["fields"]
    change(fields, [f["name"] for f in fields].index(path[-1]))
    out, rows = io.BytesIO(), [with_defaults(schema, r) for r in records]
    if null:
        reduce(getitem, path[:-1], rows[-1])[path[-1]] = None
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="deflate")
    return out.getvalue()


def with_defaults(avro: Any, value: Any) -> Any:
    """A value as another type takes it."""
    branch = next((t for t in avro if t != "null"), "null") if isinstance(avro, list) else avro
    if isinstance(branch, dict) and branch["type"] == "record":
        return {f["name"]: with_defaults(f["type"], value.get(f["name"])) for f in branch["fields"]}
    if isinstance(branch, dict) or (value is None and isinstance(avro, list)):
        return value
    kinds: dict[str, Any] = {"int": int, "long": int, "bytes": bytes, "string": str}
    return value if isinstance(value, kinds[branch]) else kinds[branch]()


def removed(fields: list[Any], index: int) -> None:
    del fields[index]


def of_another_type(fields: list[Any], index: int) -> None:
    branch = fields[index]["type"][1] if isinstance(fields[index]["type"], list) else fields[index]["type"]
    other = OF_OTHER_TYPES[branch] if isinstance(branch, str) else "string"
    fields[index] = {"name": fields[index]["name"], "type": other}


def nullable(fields: list[Any], index: int) -> None:
    field = fields[index]
    if not isinstance(field["type"], list):
        fields[index] = {"name": field["name"], "type": ["null", field["type"]]}


def nullable_at_last(fields: list[Any], index: int) -> None:
    nullable(fields, index)
    fields[index] = {"name": fields[index]["name"], "type": [*reversed(fields[index]["type"])]}


def last_of_all(fields: list[Any], index: int) -> None:
    fields.append(fields.pop(index))


@pytest.mark.parametrize(
    "table", sorted({str(file.parents[1].relative_to(GOLDEN)) for file in GOLDEN.glob("**/manifest/manifest-*")})
)
def test_golden_manifests_are_decoded_by_columns(table: str) -> None:
    """Paimon wrote them: where they take the slow way, every plan does."""
    for file in sorted((GOLDEN / table).glob("manifest/manifest-*")):
        data = file.read_bytes()
        if not file.name.startswith("manifest-list") and data.startswith(b"Obj"):
            assert by_columns(data) == one_by_one(data) != REFUSED


@pytest.mark.parametrize("path", COLUMNS, ids=".".join)
def test_a_column_is_missing(path: tuple[str, ...]) -> None:
    """A nullable one is NULL; without another one there is no entry, as in Java, which finds NULL there and fails."""
    data = with_field(path, removed)
    assert by_columns(data) in (None, one_by_one(data))
    assert (one_by_one(data) == REFUSED) == COLUMNS[path].required
    if COLUMNS[path].required:
        with pytest.raises(UnfamiliarFormError, match=f"column {path[-1]} is missing"):
            list(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, PATH, data))


@pytest.mark.parametrize("path", COLUMNS, ids=".".join)
def test_a_column_is_of_another_type(path: tuple[str, ...]) -> None:
    data = with_field(path, of_another_type)
    assert by_columns(data) is None
    assert one_by_one(data) == REFUSED


@pytest.mark.parametrize("path", COLUMNS, ids=".".join)
@pytest.mark.parametrize("change", [nullable, nullable_at_last])
def test_a_column_may_be_null(path: tuple[str, ...], change: Callable[[list[Any], int], None]) -> None:
    """Of any writer whose schema admits NULL: as long as there is none, decoding by columns is as good."""
    data = with_field(path, change)
    assert by_columns(data) == one_by_one(data) == ENTRIES


@pytest.mark.parametrize("path", [p for p in COLUMNS if COLUMNS[p].required], ids=".".join)
def test_a_column_that_each_entry_has_is_null(path: tuple[str, ...]) -> None:
    data = with_field(path, nullable, null=True)
    assert by_columns(data) is None
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} has a form.*column {path[-1]} is NULL"):
        list(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, PATH, data))


@pytest.mark.parametrize("path", COLUMNS, ids=".".join)
def test_a_column_stands_behind_the_others(path: tuple[str, ...]) -> None:
    data = with_field(path, last_of_all)
    assert by_columns(data) in (None, ENTRIES)
    assert one_by_one(data) == ENTRIES


def recoded_content(change: Callable[[bytes], bytes], count: int = 0) -> bytes:
    """The manifest with other bytes in its blocks, or another number of records."""
    reader, sink = ContainerReader(io.BytesIO(CONTENT)), io.BytesIO()
    writer = ContainerWriter(sink, reader.schema, "null", 3)
    for records, content in reader.bounded():
        writer.write(records + count, change(content))
    return sink.getvalue()


DAMAGED = {
    "empty": b"",
    "magic": b"Obj\x02" + CONTENT[4:],
    "sync": CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]),
    "another codec": CONTENT.replace(b"avro.codec\x08null", b"avro.codec\x08nuln"),
    "no codec": CONTENT.replace(b"avro.codec", b"avro.coded"),
    "no schema": CONTENT.replace(b"avro.schema", b"avro.schemb"),
    "cut off in the header": CONTENT[:50],
    "cut off in a block": CONTENT[: -SYNC_SIZE - 7],
    "cut off behind a block": CONTENT[:-SYNC_SIZE],
    "more records": recoded_content(bytes, count=1),
    "fewer records": recoded_content(bytes, count=-1),
    "bytes behind the records": recoded_content(lambda content: content + b"\0"),
    "records that end early": recoded_content(lambda content: content[:-1]),
    "version 3": encode_avro(MANIFEST_ENTRY, ENTRY_VERSION + 1, ENTRIES, "zstd"),
    "version 3 of one entry": encode_avro(MANIFEST_ENTRY, ENTRY_VERSION + 1, ENTRIES[:1], "zstd"),
    "a kind that there is not": recoded_content(lambda content: content[:1] + b"\x04" + content[2:]),
    "a name that is no text": recoded_content(
        lambda content: content.replace(ENTRIES[0].file.file_name.encode(), b"\xff" * len(ENTRIES[0].file.file_name))
    ),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_file_is_refused(what: str) -> None:
    if what == "no codec":  # means: null
        assert by_columns(DAMAGED[what]) == one_by_one(DAMAGED[what]) == ENTRIES
    else:
        assert by_columns(DAMAGED[what]) in (None, REFUSED)
        assert one_by_one(DAMAGED[what]) == REFUSED


def with_schema(change: Callable[[str], str]) -> bytes:
    """The manifest with another text of its schema before the same blocks."""
    reader, sink = ContainerReader(io.BytesIO(CONTENT)), io.BytesIO()
    writer = ContainerWriter(sink, json.loads(change(json.dumps(reader.schema))), "null", 3)
    for count, content in reader.bounded():
        writer.write(count, content)
    return sink.getvalue()


def test_two_records_of_one_name() -> None:
    """Names of types mean nothing, as long as none refers to them."""
    data = with_schema(lambda text: text.replace("record__FILE__VALUE_STATS", "record__FILE__KEY_STATS"))
    assert by_columns(with_schema(str)) == ENTRIES
    assert by_columns(data) == one_by_one(data) == ENTRIES


@pytest.mark.parametrize("codec", ["null", "deflate", "zstd"])
@settings(deadline=timedelta(seconds=30), max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damage_anywhere(codec: str, data: st.DataObject) -> None:
    originals = st.sampled_from(SMALL).map(lambda m: encode_avro(MANIFEST_ENTRY, ENTRY_VERSION, m, codec))
    content = data.draw(damaged(originals))
    assert by_columns(content) in (None, one_by_one(content))


@settings(deadline=timedelta(seconds=30), max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damage_to_records(data: st.DataObject) -> None:
    """As above, behind the checks of the container: the schema and the marker are sound."""
    content = recoded_content(lambda content: data.draw(damaged(st.just(content))))
    assert by_columns(content) in (None, one_by_one(content))


def test_entries_are_values() -> None:
    assert all(isinstance(e, ManifestEntry) for e in by_columns(CONTENT))
