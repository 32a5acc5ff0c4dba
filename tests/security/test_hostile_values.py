"""Hostile texts where they are values: of partitions, columns, options, arguments of procedures, files in metadata.

As in `test_hostile_names`: what is accepted comes back as it was, what is refused has a typed error, and nothing
outside of the warehouse is reached for either.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import PaimonError, StorageRefusedError, UnreadableFileError
from paimon_core.format_table.table import FormatTable
from paimon_core.format_table.write import FormatTableWriter
from paimon_core.options import PARTITION_DEFAULT_NAME, TABLE_OPTIONS
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.security.positions import Place
from tests.support.executors import TextExecutor
from tests.support.hostile_names import SPELLABLE_NAMES, some
from tests.support.tables import data_file, fields, info, message
from tests.support.watched import Watch
from tests.unit.format_table.test_format_table import read as read_folders

OF_ONE_FOLDER = 255 - len("p=")  # bytes that a partition's value has at most, in a folder's name
_BLANKS = " \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\u2028\u2029\u3000"  # values that are NULL in folders have no others


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(Watch(tmp_path))
    with place.watch.audited() as reached:
        yield place
    assert reached == [] and place.watch.escaped() == []


class Executor(TextExecutor):
    """Knows no SQL: its conditions are Spark's to refuse."""

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        return []


def insert(table: Table, *rows: tuple[Any, ...]) -> None:
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    schema = arrow_schema(table.schema.fields)
    arrays = [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    try:
        writer.write(pa.RecordBatch.from_arrays(arrays, names=schema.names))
        messages = writer.finish()
    except BaseException:
        writer.abort()
        raise
    table.commit_or_abort(messages, CommitInfo(user="u"))


def read(table: Table) -> list[tuple[Any, ...]]:
    names = [f.name for f in table.schema.fields]
    splits = table.plan(table.latest_snapshot()).splits
    batches = [b for split in splits for b in read_split(table.store, split, names)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def partitioned(*names: str, **options: str) -> TableSchema:
    return new_table_schema(fields(k=INT, **dict.fromkeys(names, STRING)), names, options=options)


def test_values_of_partitions(place: Place) -> None:
    table, kept = place.create("p", partitioned("p")), []
    for name in some(SPELLABLE_NAMES, "partition", 4):
        try:
            insert(table, (1, name))
        except StorageRefusedError:
            assert len(name.encode()) > OF_ONE_FOLDER
        else:
            kept.append((1, name))
    assert sorted(read(table)) == sorted(kept) and len(kept) > 40
    folders = [f for f in Path(table.store.root).iterdir() if "=" in f.name]
    assert len(folders) <= len(kept) and all(f.name.startswith("p=") for f in folders)


def test_names_of_partition_columns(place: Place) -> None:
    for number, name in enumerate(some(SPELLABLE_NAMES, "partition key")):
        try:
            table = place.create(f"p{number}", partitioned(name))
            insert(table, (1, name))
        except PaimonError:
            assert not name or len(name.encode()) > OF_ONE_FOLDER // 2
        else:
            assert read(table) == [(1, name)]
            assert table.system_table("partitions").num_rows == 1


@pytest.mark.parametrize("only_values", ["true", "false"])
def test_folders_of_format_tables(place: Place, only_values: str) -> None:
    """With folders that are called as the value, one that readers would take for hidden is refused, not lost."""
    options = {"type": "format-table", "file.format": "csv", "format-table.partition-path-only-value": only_values}
    target = FormatTable.of(place.create("f", partitioned("p", **options)).store)
    kept = []
    for name in [*some(SPELLABLE_NAMES, only_values, 4), "_a", ".a", "schema", ".."]:
        writer = FormatTableWriter(target.store)
        try:
            writer.write(pa.RecordBatch.from_pylist([{"k": 1, "p": name}], arrow_schema(target.schema.fields)))
            target.commit(tuple(writer.finish()))
        except PaimonError:
            writer.abort()
        else:
            kept.append(name)
    found = [row["p"] for row in read_folders(target)]
    null = target.store.options[PARTITION_DEFAULT_NAME]  # the folder of NULL, as Java's readers take it
    assert sorted(v for v in found if v is not None) == sorted(n for n in kept if n.strip(_BLANKS) and n != null)
    assert len(found) == len(kept) > 30


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "csv", "json"])
def test_names_of_columns_in_files(place: Place, file_format: str) -> None:
    names = [n for n in some(SPELLABLE_NAMES, file_format, 4) if n]
    schema = new_table_schema(fields(**dict.fromkeys(names, INT)), options={"file.format": file_format})
    table, row = place.create("c", schema), tuple(range(len(names)))
    insert(table, row)
    assert read(table) == [row]


def test_options_of_tables(place: Place) -> None:
    """Every option that we know, with keys and without: a table is made and used, or refused."""
    used = 0
    for number, option in enumerate(TABLE_OPTIONS):
        for name in some(SPELLABLE_NAMES, option.key, 200):
            keys = ["k", "p"] if number % 2 else []
            try:
                options = {"bucket": "1" if keys else "-1", option.key: name}
                schema = new_table_schema(fields(k=INT, p=STRING), ["p"], options, primary_keys=keys)
                table = place.create(f"o{number}", schema)
                insert(table, (1, "a"))
                kept = [] if options.get("scan.bucket", "0") != "0" else [(1, "a")]  # it is in bucket 0
                assert read(table) == kept
            except PaimonError:
                continue
            finally:
                place.catalog.drop_table(Identifier("default", f"o{number}"), ignore_if_not_exists=True)
            used += 1
    assert used > 10


@pytest.mark.parametrize("key", ["data-file.prefix", "changelog-file.prefix"])
def test_prefixes_of_files(place: Place, key: str) -> None:
    for number, name in enumerate(("../../../../outside/x-", "/tmp/x-", "a/b-", "..", *some(SPELLABLE_NAMES, key))):
        options = {"bucket": "1", "changelog-producer": "input", key: name}
        try:
            table = place.create(f"t{number}", new_table_schema(fields(k=INT), (), options, primary_keys=["k"]))
            insert(table, (1,))
        except PaimonError:
            assert number < 3 or "/" in name or "\\" in name or not name.isprintable() or len(name.encode()) > 200
        else:
            assert read(table) == [(1,)]


TEXTS = [(p.name, a.name) for p in PROCEDURES.values() for a in p.parameters if a.type == "string"]


def test_arguments_of_procedures(place: Place) -> None:
    """Each text that a procedure takes; what else it needs is a table that is there and numbers."""
    insert(place.create("p", partitioned("dt")), (1, "a"))
    context = ProcedureContext(place.catalog, "default", Executor(), UTC)  # type: ignore[arg-type]
    others = {"string": "dt=a", "bigint": 1, "int": 1, "boolean": True, "map<string,string>": {}}
    assert len(TEXTS) > 80
    for procedure, argument in TEXTS:
        required = [p for p in PROCEDURES[procedure].parameters if p.required]
        given = {p.name: "p" if p.name in ("table", "source_table") else others[p.type] for p in required}
        for name in some(SPELLABLE_NAMES, (procedure, argument), 110):
            try:
                PROCEDURES[procedure].call(context, given | {argument: name})
            except PaimonError:
                continue


def test_files_that_metadata_names(place: Place) -> None:
    """In a manifest that a commit has, all is told by an error; whatever then cleans up touches nothing outside."""
    context = ProcedureContext(place.catalog, "default", Executor(), UTC)  # type: ignore[arg-type]
    columns = fields(k=INT, v=STRING, p=INT, n=BIGINT)
    for number, name in enumerate(some(SPELLABLE_NAMES, "metadata")):
        outside = f"file:{place.watch.root}/outside/bucket-0/{name}"
        for kind, more in enumerate(({"file_name": name}, {"extra_files": (name,)}, {"external_path": outside})):
            table = place.create(f"m{number}_{kind}", new_table_schema(columns, options={"bucket": "-1"}))
            try:
                table.commit_or_abort([message(table.store, data_file(table.store, 1, 1, **more))], info())
                with pytest.raises(PaimonError):
                    read(table)
                table.truncate(info())
                given = {"table": f"m{number}_{kind}", "retain_min": 1, "retain_max": 1}
                PROCEDURES["expire_snapshots"].call(context, given)
            except UnreadableFileError:
                pass
            place.catalog.drop_table(Identifier("default", f"m{number}_{kind}"))
