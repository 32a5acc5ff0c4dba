"""A table of another writer, as it is read and continued here through the core: no JVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.binary_rows import scalar_value
from paimon_core.arrow.types import VALUE_KIND, arrow_schema
from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import Compare, IsNull, Predicate
from paimon_core.insert import insert_rows
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.options import CHANGELOG_PRODUCER, MERGE_ENGINE, SEQUENCE_FIELD
from paimon_core.row_level.rules import ChangeRules, delete_rules, merge_rules, row_position_columns, update_rules
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import changes_store, write_changes
from paimon_core.scan.changes.increment import Increment, IncrementMode
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import BIGINT, DataField, Kind
from paimon_core.store.branches import open_branch
from paimon_core.store.ddl.schema_changes import AddColumn
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.snapshots import list_snapshots
from paimon_core.system_tables.registry import SYSTEM_TABLES
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.interop.zoo.fixtures import DATABASE
from tests.interop.zoo.values import Rows, shown_rows
from tests.support.executors import TextExecutor, run_job

_UPDATED, _DELETED = 2, 3  # kinds of rows
FOREVER = 2**62
SCAN_VERSION = "scan.version"
LOGS = (DerivedTable.AUDIT_LOG, DerivedTable.BINLOG)


class Continued:
    """One table in a warehouse, opened anew for each change, so that what was written is read from the disk."""

    def __init__(self, warehouse: Path, name: str, database: str = DATABASE):
        self._warehouse, self._identifier = warehouse, Identifier(database, name)
        self._catalog = load_catalog({"warehouse": str(warehouse)})

    def _open_anew(self) -> None:
        """Forget what is kept of the table's files."""
        self._catalog = load_catalog({"warehouse": str(self._warehouse)})

    @property
    def table(self) -> Table:
        return self._catalog.load_table(self._identifier)

    # reading

    def rows(self, version: str | None = None, branch: str | None = None) -> Rows:
        """The rows of the latest version, of a snapshot or tag, or of a branch."""
        table = self.table
        if branch is not None:
            table = replace(table, store=open_branch(table.store, branch))
        snapshot = table.snapshot(version)
        return shown_rows(_batches(table.at(snapshot) if version else table, snapshot))

    def check_filters(self, columns: Iterable[str]) -> None:
        """Read by a filter on each of the columns for each value that it has, and for NULL."""
        table, names = self.table, frozenset(columns)
        snapshot = table.latest_snapshot()
        everything = _together(table, _batches(table, snapshot))
        for field in table.schema.fields:
            if field.name not in names or field.type.kind in (Kind.ROW, Kind.ARRAY, Kind.MAP):
                continue
            column = everything.column(field.name)
            matches = {None: (IsNull(field.name), pc.is_null(column))}
            for value in column:
                if value.is_valid:
                    matches[value] = (
                        Compare(field.name, "=", scalar_value(value, field.type)),
                        pc.equal(column, value),
                    )
            for value, (predicate, mask) in matches.items():
                expected = shown_rows(everything.filter(pc.fill_null(mask, False)).to_batches())
                found = _batches(table, snapshot, predicate)
                missing = [row for row in expected if row not in shown_rows(found)]
                assert not missing, f"{field.name} = {value}: {missing} of {expected} do not come"

    def check_system_tables(self, versions: Iterable[str], branches: Iterable[str]) -> None:
        """Read every system table: of the latest version, of versions, and of branches."""
        table = self.table
        self._check_files(table, self.rows())
        for version in versions:
            self._check_files(table.with_options({SCAN_VERSION: version}), self.rows(version))
        for branch in branches:
            branched = replace(table, store=open_branch(table.store, branch))
            self._check_files(branched, self.rows(branch=branch))

    def _check_files(self, table: Table, rows: Rows) -> None:
        """Read all system tables; the files of a version have each of its rows, of a key also older ones."""
        found = {name: table.system_table(name, UTC) for name in SYSTEM_TABLES}
        assert sum(found["files"].column("record_count").to_pylist()) >= len({str(row) for row in rows})
        ids = {snapshot.id for snapshot in list_snapshots(table.store)}
        assert set(found["snapshots"].column("snapshot_id").to_pylist()) == ids

    def read_changes(self) -> int:
        """Read the changes of each snapshot, as rows and as logs; how many there were."""
        table, count, before = self.table, 0, None
        producer = table.store.options[CHANGELOG_PRODUCER] != "none"
        for snapshot in list_snapshots(table.store):
            mode = IncrementMode.CHANGELOG if producer else IncrementMode.DELTA
            increment = Increment(mode=mode, start=before, end=snapshot, snapshots=(snapshot,))
            for derived in (DerivedTable.AUDIT_LOG, DerivedTable.BINLOG):
                names = ["rowkind", *(f.name for f in table.schema.fields)]
                for split in table.plan(increment).splits:
                    count += sum(b.num_rows for b in read_derived(table.store, derived, split, names))
            before = snapshot
        return count

    # what changes it

    @property
    def takes_changes(self) -> bool:
        """Whether rows may be updated and deleted, and the newest of a key wins."""
        return self.table.store.options[MERGE_ENGINE] == "deduplicate"

    def like(self, number: int) -> pa.RecordBatch:
        """A new row: the first one with another value in the first column, or one of NULLs."""
        table = self.table
        rows = _together(table, _batches(table, table.latest_snapshot())).slice(0, 1)
        fields = arrow_schema(table.schema.fields)
        columns = [rows.column(f.name) if rows.num_rows else pa.nulls(1, f.type) for f in fields]
        columns[0] = pa.chunked_array([pa.array([number], fields.field(0).type)])
        loose = pa.schema([pa.field(f.name, f.type) for f in fields])
        return pa.Table.from_arrays(columns, schema=loose).combine_chunks().to_batches()[0]

    def insert(self, rows: pa.RecordBatch) -> None:
        table = self.table.for_write()
        table.check_writable()
        start, base = table.max_sequence_number() + 1, table.assignment_base(1)
        writer = open_writer(table.write_store(overwrites=False), sequence_start=start, base=base)
        writer.write(rows)
        insert_rows(table, writer.finish(), CommitInfo(user="zoo"), TextExecutor())
        self._open_anew()

    def updated_column(self) -> DataField | None:
        """A column that an UPDATE may set to NULL: none of a key, and not what orders rows."""
        schema, options = self.table.schema, self.table.store.options
        fixed = {*schema.primary_keys, *schema.partition_keys, *schema.bucket_keys, *options[SEQUENCE_FIELD]}
        return next((f for f in schema.fields[1:] if f.name not in fixed), None)

    def update(self, number: int) -> None:
        """UPDATE … SET column = NULL WHERE first column = number."""
        table = self.table
        column = self.updated_column()
        assert column is not None
        rules = update_rules(table.store, table.latest_snapshot(), [column.name])
        self._change(table, rules, [(_UPDATED, self._located(table, number), column.name)])

    def delete(self, number: int) -> None:
        """DELETE WHERE first column = number."""
        table = self.table
        rules = delete_rules(table.store, table.latest_snapshot())
        self._change(table, rules, [(_DELETED, self._located(table, number), None)])

    def merge(self, updated: int, deleted: int) -> None:
        """MERGE INTO: one row gets NULL in a column, another is deleted."""
        table = self.table
        column = self.updated_column()
        assert column is not None
        rules = merge_rules(table.store, table.latest_snapshot(), [column.name], once=True)
        changes = [
            (_UPDATED, self._located(table, updated), column.name),
            (_DELETED, self._located(table, deleted), None),
        ]
        self._change(table, rules, changes)

    def _located(self, table: Table, number: int) -> pa.Table:
        """The rows with a number in the first column, and what says where they are."""
        names = [*(f.name for f in table.schema.fields), *row_position_columns(table.store)]
        splits = table.plan(table.latest_snapshot()).splits
        found = pa.Table.from_batches([b for s in splits for b in read_split(table.store, s, names)])
        return found.filter(pc.equal(found.column(0), number))

    def _change(self, table: Table, rules: ChangeRules, changes: Sequence[tuple[int, pa.Table, str | None]]) -> None:
        results = []
        for kind, rows, column in changes:
            assert rows.num_rows
            if column is not None:
                index = rows.schema.get_field_index(column)
                rows = rows.set_column(index, column, pa.nulls(rows.num_rows, rows.schema.field(index).type))
            kinds = pa.array([kind] * rows.num_rows, pa.int8())
            batches = rows.add_column(0, VALUE_KIND, kinds).combine_chunks().to_batches()
            start = table.max_sequence_number() + 1
            results.append(write_changes(changes_store(table.store, rules), rules, batches, sequence_start=start))
        RowLevelStatement(table, rules, TextExecutor()).commit(results)
        self._open_anew()

    def compact(self) -> None:
        """CALL sys.compact."""
        table = self.table
        buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
        messages = run_job(compaction_job(table.store, buckets, Strategy.FULL))
        if messages:
            table.commit_or_abort(messages, CommitInfo(user="zoo"))
            self._open_anew()

    def add_column(self, name: str) -> None:
        self._catalog.alter_table(self._identifier, [AddColumn((name,), BIGINT)])
        self._open_anew()

    def expire(self) -> int:
        """Keep the latest snapshot only; how many went."""
        retention = Retention(least=1, most=1, older_than=FOREVER, limit=1000)
        gone = expire_snapshots(self.table.store, retention, 0)
        self._open_anew()
        return gone

    def remove_orphans(self) -> tuple[str, ...]:
        return remove_orphans(self.table.store, FOREVER).paths


def _batches(table: Table, snapshot: Snapshot | None, predicate: Predicate | None = None) -> list[pa.RecordBatch]:
    names = [f.name for f in table.schema.fields]
    splits = table.plan(snapshot, predicate).splits if snapshot is not None else ()
    return [b for s in splits for b in read_split(table.store, s, names, predicate)]


def _together(table: Table, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, None if batches else arrow_schema(table.schema.fields))
