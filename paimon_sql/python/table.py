"""A table in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema, plain_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.lazy import ImportedOnCall
from paimon_core.object_table import is_object_table
from paimon_core.options import MERGE_SCHEMA
from paimon_core.scan.derived_tables import NAMED_TABLES, DerivedTable, derived_fields
from paimon_core.scan.streams.options import check_batch_options
from paimon_core.scan.time_travel import overridden
from paimon_core.secrets import redacted
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.base import Catalog
from paimon_sql.python.arguments import Options, checked_methods
from paimon_sql.python.scan import TableScan, new_scan
from paimon_sql.python.versions import VersionChoice, at_version, chosen_options, given_options, options_of_changes
from paimon_sql.python.where.condition import Where

if TYPE_CHECKING:
    from paimon_sql.pictures.kinds import draw, kinds_of
    from paimon_sql.pictures.picture import Choice, PictureFormat
    from paimon_sql.pictures.show import TablePictures
    from paimon_sql.python.definitions import column_changes, comment_changes, option_changes
    from paimon_sql.python.following import Follower, following_options
    from paimon_sql.python.merging import Clauses, MergeClauses, merge_rows
    from paimon_sql.python.planned_write import PlannedWrite
    from paimon_sql.python.row_changes import delete_rows, update_rows
    from paimon_sql.python.writing import WrittenTable, append_rows, overwrite_rows, planned_write
else:
    column_changes = ImportedOnCall("paimon_sql.python.definitions", "column_changes")
    comment_changes = ImportedOnCall("paimon_sql.python.definitions", "comment_changes")
    option_changes = ImportedOnCall("paimon_sql.python.definitions", "option_changes")
    draw = ImportedOnCall("paimon_sql.pictures.kinds", "draw")
    kinds_of = ImportedOnCall("paimon_sql.pictures.kinds", "kinds_of")
    TablePictures = ImportedOnCall("paimon_sql.pictures.show", "TablePictures")
    Follower = ImportedOnCall("paimon_sql.python.following", "Follower")
    following_options = ImportedOnCall("paimon_sql.python.following", "following_options")
    MergeClauses = ImportedOnCall("paimon_sql.python.merging", "MergeClauses")
    merge_rows = ImportedOnCall("paimon_sql.python.merging", "merge_rows")
    append_rows = ImportedOnCall("paimon_sql.python.writing", "append_rows")
    delete_rows = ImportedOnCall("paimon_sql.python.row_changes", "delete_rows")
    overwrite_rows = ImportedOnCall("paimon_sql.python.writing", "overwrite_rows")
    WrittenTable = ImportedOnCall("paimon_sql.python.writing", "WrittenTable")
    planned_write = ImportedOnCall("paimon_sql.python.writing", "planned_write")
    update_rows = ImportedOnCall("paimon_sql.python.row_changes", "update_rows")


def check_kind(identifier: Identifier, options: Mapping[str, str]) -> None:
    """Raise `UnsupportedFeatureError` for the options of a table that only Spark reads."""
    for kind, is_one in (("a format", is_format_table), ("an object", is_object_table)):
        if is_one(options):
            raise UnsupportedFeatureError(
                f"{identifier} is {kind} table, which only Spark reads: use paimon_sql.connect."
            )


@checked_methods
@dataclass(frozen=True)
class PaimonTable:
    """A table as it was when it was loaded: its schema is fixed, but each call looks up the present versions.

    A table may be used from several threads.
    """

    catalog: Catalog = field(repr=False)
    identifier: Identifier
    inner: Table = field(repr=False)
    derived: DerivedTable = DerivedTable.ROWS

    @staticmethod
    def load(catalog: Catalog, identifier: Identifier, zone: tzinfo | None) -> PaimonTable:
        """Load a table of a catalog, or a table derived from it; `zone` is the zone of moments without a zone.

        Raises the errors of `PaimonCatalog.table`.
        """
        kind_of_rows = (identifier.system_table or "").lower()
        if kind_of_rows and kind_of_rows not in NAMED_TABLES:
            raise UnsupportedFeatureError(
                f"{identifier} is a system table: open {identifier.base} and call inspect({identifier.system_table!r})."
            )
        found = catalog.load_table(identifier)
        check_kind(identifier, found.schema.options)
        return PaimonTable(catalog, identifier, found.in_zone(zone), DerivedTable(kind_of_rows))

    @property
    def name(self) -> str:
        """The full name of the table, with its branch."""
        return str(self.identifier)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table, as scans return them."""
        return plain_schema(arrow_schema(derived_fields(self.inner.store, self.derived)))

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, empty for an append table."""
        return self.inner.schema.primary_keys

    @property
    def partitioned_by(self) -> tuple[str, ...]:
        """The partition columns."""
        return self.inner.schema.partition_keys

    @property
    def options(self) -> dict[str, str]:
        """The options of the table; secrets are hidden."""
        return redacted(dict(self.inner.schema.options))

    @property
    def comment(self) -> str | None:
        """The comment of the table."""
        return self.inner.schema.comment

    @property
    def location(self) -> str:
        """The folder or URI of the table's files."""
        return self.inner.store.root

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        options: Options | None = None,
        **choice: Unpack[VersionChoice],
    ) -> TableScan:
        """Return a scan: a value that selects rows. Nothing is read before rows are requested.

        `columns` are the columns of the result (default: all of the table; metadata columns such as
        `__paimon_file_path` only if they are named). `where` is a condition: SQL, as Spark reads it in ANSI mode, or an
        expression of `pyarrow.compute`. `limit` is the largest number of rows. `options` are options of the table for
        this scan. `version`, `tag`, `timestamp` and `branch` choose what is read, see `VersionChoice`; the default is
        the latest version.

        Raises `ColumnNotFoundError`, `InvalidOptionError` for a text that is not a condition,
        `UnsupportedFeatureError` for a condition that needs Spark, `SnapshotNotFoundError`, `BranchNotFoundError`,
        `NoPrivilegeError`.
        """
        given = chosen_options(choice, options or {})
        check_batch_options(self.name, given)
        latest = self._on_branch(choice.get("branch")).with_options(given)
        at, version = at_version(latest)
        return new_scan(at, self.derived, version, columns, where, limit, latest)

    def search(
        self,
        column: str,
        vector: Sequence[float],
        k: int = 10,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        metric: str | None = None,
        options: Options | None = None,
    ) -> pa.Table:
        """Return the `k` rows of the latest version with the vectors nearest to `vector`, among those that satisfy
        `where`. See `TableScan.nearest`, which also searches other versions. Raises the errors of `scan` and
        `TableScan.nearest`.
        """
        return self.scan(columns, where).nearest(column, vector, k, metric, options)

    def search_text(
        self,
        column: str,
        query: str | Mapping[str, Any],
        k: int = 10,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
    ) -> pa.Table:
        """Return the `k` rows of the latest version with the texts that match `query` best, among those that satisfy
        `where`. See `TableScan.matching`, which also searches other versions. Raises as `scan` and
        `TableScan.matching`.
        """
        return self.scan(columns, where).matching(column, query, k)

    def changes(
        self,
        since: int | str | datetime,
        until: int | str | datetime | None = None,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        options: Options | None = None,
    ) -> TableScan:
        """Return a scan of the changes after a version, up to another one (default: the latest version).

        A version is the id of a snapshot or the name of a tag; two `datetime` select the commits between them. The
        column `rowkind` says how a row changed: "+I", "-U", "+U" or "-D". Between two snapshots, the changes are the
        table's changelog, or the written rows if it has none. Two tags of a table with a primary key are compared. Open
        `$binlog` to have an update in one row. Other arguments as for `scan`.

        Raises the errors of `scan`; `SnapshotNotFoundError` if the changes expired, `UnsupportedFeatureError` for other
        derived tables.
        """
        given = overridden(given_options(options), options_of_changes(self.inner.store, since, until))
        return self._log.scan(columns, where, limit, given)

    def follow(
        self,
        consumer: str | None = None,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        options: Options | None = None,
        *,
        after: str | None = None,
        wait: float = 0,
    ) -> Follower:
        """Return an iterator of batches: the rows of the latest version, then the changes of later versions.

        Each batch has its changes with the column `rowkind`, as `changes` has them. With a `consumer`, a name, the
        table keeps the progress: `acknowledge` of a batch records it, and another follower with the name goes on
        there. Batches that were not acknowledged come again, and so may acknowledged batches of the same version.
        `after` is the `position` of a batch, for programs that keep the progress themselves.

        The iterator ends at the version that is the latest when it begins; with `wait`, as soon as no change came for
        so many seconds (`math.inf`: never). `options` are options of streams, such as `scan.mode`, `scan.snapshot-id`
        and `read.stream.maxRowsPerTrigger`; `columns` and `where` as for `scan`.

        Raises the errors of `scan` and `Follower.__next__`; `InvalidNameError`, `InvalidDataError` for a position that
        is not of this table.
        """
        if consumer is not None and after is not None:
            raise InvalidOptionError(
                "follow takes either a consumer or a position, not both: each of them decides where to begin."
            )
        log = self._log
        given = following_options(self.inner.store, consumer, given_options(options))
        table = self.inner.with_options(given)
        return Follower(table, new_scan(table, log.derived, None, columns, where, None, table), after, wait)

    # -- writes -------------------------------------------------------------------------------------------------------
    def append(self, data: Any, options: Options | None = None) -> None:
        """Append rows to a table without a primary key, in one commit.

        `data` is an Arrow table or stream (also a scan, or a DataFrame of Polars), a DataFrame of pandas, or a list of
        dicts. Columns are matched by name; a column that the rows lack is NULL, or has its default. Values are cast as
        INSERT casts them. `options` are options of the table for this write: with `commit.identifier` and
        `write.stream.commit-user` the commit is made once; with `write.merge-schema`, columns that the table lacks are
        added in the same commit.

        Raises `InvalidDataError` for values that a column cannot hold, `ColumnNotFoundError`, `UnsupportedFeatureError`
        for a table with a primary key, `CommitConflictError`, `CommitUnknownError`, `NoPrivilegeError`, `StorageError`.
        """
        append_rows(self._target(options), data, upserts=False)

    def upsert(self, data: Any, options: Options | None = None) -> None:
        """Insert rows into a table with a primary key. Rows with the key of an older row are merged with it, by the
        table's merge engine. Arguments and errors as for `append`."""
        append_rows(self._target(options), data, upserts=True)

    def overwrite(
        self,
        data: Any,
        *,
        partition: Mapping[str, Any] | None = None,
        where: Where | None = None,
        dynamic: bool = False,
        options: Options | None = None,
    ) -> None:
        """Replace rows by others, in one commit: all rows, or whole partitions.

        `partition` has values of partition columns: the rows of these partitions are replaced, and `data` may lack the
        columns. `where` is a condition on partition columns. With `dynamic`, the partitions of the rows in `data` are
        replaced. Other arguments and errors as for `append`.
        """
        overwrite_rows(self._target(options), data, partition, where, dynamic=dynamic)

    def plan_write(
        self,
        *,
        overwrite: bool = False,
        partition: Mapping[str, Any] | None = None,
        where: Where | None = None,
        dynamic: bool = False,
        options: Options | None = None,
    ) -> PlannedWrite:
        """Return a write for several processes that ends in one commit.

        The value travels by `pickle`. Each process calls `write(data)`, which returns a part; one process calls
        `commit(parts)`. Rows are appended, or upserted in a table with a primary key. With `overwrite`, rows are
        replaced as by `overwrite`. With `commit.identifier` in `options`, `commit` may be called again after an
        error: the commit is made once.

        Raises `UnsupportedFeatureError` for a table with dynamic buckets, `InvalidDataError`, `NoPrivilegeError`.
        """
        return planned_write(self._written(options), overwrite, partition, where, dynamic=dynamic)

    def delete(self, where: Where, options: Options | None = None) -> None:
        """Delete the rows that satisfy a condition, in one commit; `where` as for `scan`.

        Raises the errors of `scan` and `append`; `UnsupportedFeatureError` for a table with rows that cannot be
        deleted.
        """
        delete_rows(self._written(options), where)

    def update(
        self, assignments: Mapping[str, Any], where: Where | None = None, options: Options | None = None
    ) -> None:
        """Give columns new values in the rows that satisfy a condition (default: all), in one commit.

        A text is an SQL expression on the old row, as in `{"amount": "amount * 2", "note": "'checked'"}`; any other
        value is a constant. Raises the errors of `delete`; `UnsupportedFeatureError` for columns of the primary key.
        """
        update_rows(self._written(options), assignments, where)

    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *,
        when_matched: Clauses = (),
        when_not_matched: Clauses = (),
        when_not_matched_by_source: Clauses = (),
        options: Options | None = None,
    ) -> None:
        """Join the table's rows with a source, and update, delete and insert rows, in one commit: MERGE INTO of SQL.

        `source` is data as for `append`, and is read into memory. `on` are columns that are equal in both, or a
        condition in SQL with at least one such equality. Expressions name columns as `target.x` and `source.x`.

        A clause is "update" or "insert", with all columns of the source; "delete"; or a dict of new values as for
        `update`. A pair of a condition and a clause applies to the rows that satisfy the condition. Of a list of
        clauses, the first one that applies to a row takes it. Rows that match are updated and deleted, rows of the
        source without a match are inserted, and rows of the table without a match are updated and deleted.

        Raises `SeveralMatchesError` if several rows of the source change one row; else as `update` and `append`.
        """
        given = MergeClauses(when_matched, when_not_matched, when_not_matched_by_source)
        merge_rows(self._written(options), source, on, given)

    def _written(self, options: Options | None) -> Table:
        if self.derived is not DerivedTable.ROWS:
            raise UnsupportedFeatureError(f"{self.name} cannot be written: write rows to {self.identifier.base}.")
        return self.inner.with_options(given_options(options))

    def _target(self, options: Options | None) -> WrittenTable:
        """Return the table for a write that may add columns. With `write.merge-schema`, load its present schema."""
        given, table = given_options(options), self._written(options)
        if table.store.options[MERGE_SCHEMA]:
            table = self.catalog.load_table(self.identifier).in_zone(self.inner.store.zone).with_options(given)
        return WrittenTable(table, given, partial(self.catalog.stage_alter, self.identifier))

    # -- more ---------------------------------------------------------------------------------------------------------
    def inspect(self, name: str) -> pa.Table:
        """Return the rows of a system table, such as "snapshots", "files" or "tags".

        Raises `TableNotFoundError`, which lists the system tables; `NoPrivilegeError`, `CorruptFileError`.
        """
        return self.inner.system_table(name, self.inner.store.zone)

    @property
    def pictures(self) -> TablePictures:
        """Pictures of the table: its LSM trees, commits, files, partitions, branches and schemas.

        A notebook shows the value; `table.pictures.lsm().save("t.svg")` writes a file. Drawing raises
        `UnsupportedFeatureError` for the LSM map of a table without a primary key, `NoPrivilegeError`,
        `CorruptFileError`.
        """

        def render(kind: str | None, form: PictureFormat, part: Choice) -> list[str]:
            kinds = kinds_of(self.inner.store) if kind is None else (kind,)
            return [draw(self.inner.store, each, part).written(form) for each in kinds]

        return TablePictures(self.name, render)

    @property
    def _log(self) -> PaimonTable:
        """The table with the kind of each row."""
        if self.derived not in (DerivedTable.ROWS, DerivedTable.AUDIT_LOG, DerivedTable.BINLOG):
            raise UnsupportedFeatureError(
                f"{self.name} has no row kinds: read the changes of {self.identifier.base}, or of its $binlog."
            )
        return self if self.derived.is_log else replace(self, derived=DerivedTable.AUDIT_LOG)

    def _on_branch(self, branch: str | None) -> Table:
        identifier = self.identifier.on_branch(branch)
        if identifier == self.identifier:
            return self.inner
        return self.catalog.load_table(identifier).in_zone(self.inner.store.zone)

    def alter(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] = (),
        types: Mapping[str, pa.DataType] | None = None,
        add: Mapping[str, pa.DataType] | None = None,
        options: Mapping[str, str | None] | None = None,
        comment: str | None = None,
    ) -> PaimonTable:
        """Change the table's definition in one step, and return the table with it.

        Columns are renamed, dropped, given other types and added, in this order; a dot in a name leads to a field of a
        ROW. An option with the value None is removed; an empty comment removes the comment.
        Raises `InvalidSchemaError`, `InvalidOptionError`, `UnsupportedFeatureError` for a change that Paimon does not
        allow, `CommitConflictError` if another process changes the definition meanwhile.
        """
        changes = [
            *column_changes(rename or {}, drop, types or {}, add or {}),
            *option_changes(options or {}),
            *comment_changes(comment),
        ]
        self.catalog.alter_table(self.identifier, changes)
        return self.load(self.catalog, self.identifier, self.inner.store.zone)
