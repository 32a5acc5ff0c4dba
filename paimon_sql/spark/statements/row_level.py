"""DELETE, UPDATE and MERGE INTO: the parsed statement becomes a query that computes its changes, and their write to the
table.

Spark's own rewrites need a writer of row deltas on executors, which Python cannot implement. So the parser hook
replaces the statement by a command of this package. The command computes the changes as a DataFrame: the row kind, file
and position of the row to replace (tables without a primary key), and the new row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from paimon_core.arrow.types import FILE_PATH, ROW_INDEX, VALUE_KIND
from paimon_core.commit.draft import CommitInfo
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidDataError
from paimon_core.expressions.predicate import Or, equals
from paimon_core.expressions.terms import core_value
from paimon_core.lsm.rows import ROW_DELETE, ROW_UPDATE_AFTER
from paimon_core.options import (
    DATA_EVOLUTION,
    READ_ALLOW_FULL_SCAN,
    SCALAR_INDEX_SEARCH_MODE,
)
from paimon_core.row_level.rules import (
    ChangeRules,
    check_deletable,
    delete_rules,
    deletes_whole_partitions,
    row_position_columns,
    update_rules,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import Operation, Snapshot
from paimon_core.spec.types import Kind
from paimon_core.store.blob.columns import check_no_views_read, options_of_change, viewed_columns
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.commands import append
from paimon_sql.spark.jvm.constraints import satisfies
from paimon_sql.spark.jvm.expressions import canonical_text, column, deciding_columns, is_true, referenced
from paimon_sql.spark.jvm.frames import analyzed, attributes, bound, filter_condition, frame, with_small_queries
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.plans import Assignment, Delete, Merge, ParsedStatement, TableReference
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.evolved_table import EvolvedTable, latest_table, named_relation
from paimon_sql.spark.types import string_types, to_struct
from paimon_sql.spark.write.alignment import Alignment, aligned, with_field
from paimon_sql.spark.write.changes import ChangesTable
from paimon_sql.spark.write.store_assignment import cast_as_spark, cast_as_stored, default_value, needs_cast

_POSITION_PREFIX = "__paimon_target"  # prefixed, because the source of a MERGE INTO may have columns of the same names


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement changes: its rows as a DataFrame, and the names that can qualify its columns. Without
    a primary key, the rows have their file and position.
    """

    jvm: Jvm
    session: SessionBridge
    table: Table
    frame: DataFrame
    qualifiers: tuple[tuple[str, ...], ...]
    before: Snapshot | None  # with data evolution, the latest snapshot before the statement reads rows
    reference: TableReference
    publish: Callable[[], None] | None = None  # publishes the columns that the statement adds

    @property
    def columns(self) -> list[str]:
        return [f.name for f in self.table.schema.fields]

    def column(self, expression: Any) -> Column:
        """Return a Catalyst expression as a Column."""
        return column(self.jvm, expression)

    @property
    def own(self) -> list[Any]:
        """Return the Catalyst attributes of the table's columns, which distinguish names that differ only in case."""
        return attributes(self.frame)[: len(self.columns)]

    @property
    def types(self) -> dict[str, DataType]:
        """Return the type of each column, STRING for CHAR and VARCHAR."""
        return {f.name: f.dataType for f in string_types(to_struct(self.table.schema.fields)).fields}

    def nulls(self) -> list[Column]:
        """Return a NULL of its type for each column: the policy STRICT refuses a NULL without a type."""
        return [F.lit(None).cast(self.types[c]) for c in self.columns]

    def stored(
        self, name: str, value: Column, source: DataType, fills: bool = False, kept: Column | None = None
    ) -> Column:
        """Return a value of type `source` in the column's type. With `fills`, fields that the value lacks get the
        values in `kept`.
        """
        target = self.types[name]
        value = aligned(value, source, target, Alignment(self.table.name, name, fills), kept)
        if needs_cast(self.jvm, self.session, source, target):
            return cast_as_spark(self.jvm, self.session, value, target)
        return value

    def changes(self, frame: DataFrame, kind: Column | int, values: Sequence[Column]) -> DataFrame:
        """Return changes made from the rows of `frame`: a row kind, file and position of the row replaced, and the new
        row.
        """
        kinds = kind if isinstance(kind, Column) else F.lit(kind)
        positions = [F.col(_POSITION_PREFIX + c).alias(c) for c in row_position_columns(self.table.store)]
        row = [v.alias(n) for v, n in zip(values, self.columns, strict=True)]
        return frame.select(kinds.cast("byte").alias(VALUE_KIND), *positions, *row)

    def check_no_views_read(self, statement: str, found: Callable[[], Sequence[Any]]) -> None:
        """Raise `UnsupportedFeatureError` if one of the Catalyst expressions that `found` returns reads a column with
        views of BLOBs."""
        if viewed_columns(self.table.store, self.columns):
            read = referenced(found())
            names = [c for c, own in zip(self.columns, self.own, strict=True) if canonical_text(own) in read]
            check_no_views_read(self.table.store, names, statement)

    @property
    def row_rules(self) -> RowRules:
        """Return the rules for new rows."""
        return RowRules.of(self.table.schema)

    def checked(self, changes: DataFrame, written: Collection[str] | None = None) -> DataFrame:
        """Return changes that raise Spark's error if a new row violates a CHECK constraint.

        The changes have whole rows. If the table has constraints, updates keep only the values of the columns
        `written` after the check; without `written`, they keep all values.
        """
        rules = self.row_rules.in_zone(self.table.store.zone, self.table.name)
        checks, is_new = rules.checks, F.col(VALUE_KIND) != ROW_DELETE
        changes = self._as_stored(changes, {c for check in checks for c in check.columns})
        for field in rules.defaults:
            name, value = F.col(quoted_name(field.name)), default_value(field)
            changes = changes.withColumn(field.name, F.when(is_new, F.coalesce(name, value)).otherwise(name))
        for made in rules.generated:
            name, value = F.col(quoted_name(made.name)), F.expr(made.expression).cast(self.types[made.name])
            changes = changes.withColumn(made.name, F.when(is_new, F.coalesce(name, value)).otherwise(name))
        for constraint in checks:
            # Spark moves a condition before a join, where rows that do not change would be checked, unless it is not
            # deterministic. It would move a part of an AND, so the two are sides of one comparison. Spark knows that
            # every rand() is 0 or more
            changes = changes.filter((~is_new | satisfies(self.jvm, constraint)) == (F.spark_partition_id() >= 0))
        if not checks or written is None:
            return changes
        left_out = {c: n for c, n in zip(self.columns, self.nulls(), strict=True) if c not in written}
        is_update = F.col(VALUE_KIND) == ROW_UPDATE_AFTER
        return changes.select(
            *(
                F.when(is_update, left_out[c]).otherwise(F.col(quoted_name(c))).alias(c)
                if c in left_out
                else quoted_name(c)
                for c in changes.columns
            )
        )

    def _as_stored(self, changes: DataFrame, names: Collection[str]) -> DataFrame:
        """Return changes with the values of columns as the table stores them, not as they were computed."""
        odd = [f for f in changes.schema if f.name in names and f.dataType != self.types[f.name]]
        for field in odd:
            if not isinstance(field.dataType, StructType | ArrayType | MapType):  # Spark aligns their fields later
                value = cast_as_stored(self.jvm, self.session, F.col(quoted_name(field.name)), self.types[field.name])
                changes = changes.withColumn(field.name, value)
        return changes

    @property
    def evolves(self) -> bool:
        """Return whether the table writes single columns of rows (data evolution)."""
        return self.table.store.options[DATA_EVOLUTION]

    def check_deletable(self) -> None:
        """Raise `UnsupportedFeatureError` if single rows of the table cannot be deleted."""
        check_deletable(self.table.store, self.table.hides_rows)

    def command(self, changes: Changes) -> Any:
        """Return the command that writes the changes and commits them."""
        frame = changes.frame
        if changes.rules.updates is not None:
            # one task gets all changes of a row range, in order; new rows keep their order
            path, spread = F.col(FILE_PATH), F.spark_partition_id().cast("string")
            frame = frame.repartition(F.coalesce(path, spread)).sortWithinPartitions(FILE_PATH, ROW_INDEX)
        sink = ChangesTable(self.jvm, self.session, self.table, changes.rules, self.publish)
        return append(self.jvm, sink, analyzed(frame))


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a statement: rows from `Target.changes`, and the rules of their commit."""

    frame: DataFrame
    rules: ChangeRules


def open_target(
    catalog: SparkCatalog,
    table: Table,
    name: Identifier,
    statement: ParsedStatement,
    evolved: EvolvedTable | None = None,
) -> Target:
    """Return the target of a parsed statement: a relation, which may have an alias. `evolved` is the table with the
    columns that the statement adds.
    """
    jvm, session = catalog.jvm, catalog.session
    before = table.latest_snapshot() if table.store.options[DATA_EVOLUTION] else None
    parts = () if statement.table is None else statement.table.parts
    # in a session with an audit, the plain name may mean a branch
    is_plain = bool(parts) and parts[-1].lower() == name.table.lower()
    full = (catalog.catalog_name, name.database, name.table if is_plain else name.name)
    # a query for the rows to change must not skip any
    options = {SCALAR_INDEX_SEARCH_MODE.key: "full"} if table.store.options[DATA_EVOLUTION] else {}
    if not isinstance(statement, Merge):
        options[READ_ALLOW_FULL_SCAN.key] = "true"  # only queries and the join of a MERGE need permission for it
    if not isinstance(statement, Delete):
        options |= options_of_change(table.schema)
    positions = row_position_columns(table.store)
    target = evolved or latest_table(catalog, name, table)
    rows = frame(jvm, session.session, named_relation(catalog, name, target, full, options))
    qualifiers: tuple[tuple[str, ...], ...] = (full, full[1:], full[2:])
    if statement.table is not None and statement.table.alias is not None:
        rows, qualifiers = rows.alias(statement.table.alias), ((statement.table.alias,),)
    if positions:
        named = [F.col(c).alias(_POSITION_PREFIX + c) for c in positions]
        rows = rows.select("*", *named).drop(*target.metadata_names)
    reference = TableReference(None, (name.database, name.table), catalog=catalog.catalog_name)
    return Target(jvm, session, table, rows, qualifiers, before, reference, evolved.publish if evolved else None)


def delete_by_metadata(target: Target, condition: Any) -> bool:
    """Run `DELETE FROM t WHERE condition` if it deletes whole partitions, or all rows. Return False if single rows must
    be read.
    """
    if not deletes_whole_partitions(target.table.store):
        return False
    matching = target.frame.filter(target.column(condition))
    if is_true(filter_condition(matching)):
        target.table.truncate(CommitInfo(user=target.table.new_commit_user(), operation=Operation.TRUNCATE))
        return True
    if not target.table.schema.partition_keys or not _only_partitions(target, matching):
        return False
    delete_partitions(target, matching)
    return True


def deleted_rows(target: Target, condition: Any, *, runs: bool) -> Changes:
    """Return the changes of `DELETE FROM t WHERE condition`. With `runs`, small queries in the condition are run."""
    target.check_deletable()
    matching = _matching(target, condition, runs)
    values = [target.column(a) for a in target.own] if target.table.schema.primary_keys else target.nulls()
    return Changes(target.changes(matching, ROW_DELETE, values), delete_rules(target.table.store, target.before))


def updated_rows(target: Target, assignments: Sequence[Assignment], condition: Any | None, *, runs: bool) -> Changes:
    """Return the changes of `UPDATE t SET assignments WHERE condition`. `runs` is as for `deleted_rows`."""
    assigned = assigned_columns(target, assignments)
    conditions = [] if condition is None else [target.column(condition)]
    target.check_no_views_read(
        "UPDATE",
        lambda: [
            *(filter_condition(target.frame.filter(c)) for c in conditions),
            *bound(target.frame, list(assigned.values())),
        ],
    )
    nulls = dict(zip(target.columns, target.nulls(), strict=True))
    # NULL here: `checked` computes their values
    assigned |= {c: nulls[c] for c in target.row_rules.made_anew(assigned)}
    rules = update_rules(target.table.store, target.before, assigned.keys())
    types = target.frame.select(*(v.alias(c) for c, v in assigned.items())).schema  # errors before queries run
    matching = target.frame if condition is None else _matching(target, condition, runs)
    stored = {c: target.stored(c, v, types[c].dataType) for c, v in assigned.items()}
    is_whole = rules.moves_rows or bool(target.row_rules.checks)
    kept = [target.column(a) for a in target.own] if is_whole else target.nulls()
    values = [stored.get(c, k) for c, k in zip(target.columns, kept, strict=True)]
    changes = target.changes(matching, ROW_UPDATE_AFTER, values)
    return Changes(target.checked(changes, None if rules.moves_rows else assigned.keys()), rules)


def _matching(target: Target, condition: Any, runs: bool) -> DataFrame:
    """Return the rows of the target that a condition takes. The values of small queries choose the files to read."""
    matching = target.frame.filter(target.column(condition))
    if not runs:
        return matching
    found = with_small_queries(target.jvm, target.session.session, filter_condition(matching), target.reference)
    return matching if found is None else target.frame.filter(target.column(found))


def assigned_columns(target: Target, assignments: Sequence[Assignment]) -> dict[str, Column]:
    """Return the new value of each column that is assigned, as a whole or by a field of it. Raises
    `InvalidDataError`.
    """
    assigned: dict[str, Column] = {}
    nested: set[str] = set()
    for assignment in assignments:
        name, path = _assigned_column(target, assignment)
        if name in assigned and (not path or name not in nested):
            raise InvalidDataError(f"UPDATE of {target.table.name} assigns column {name!r} twice: name it once.")
        value = _value(target, name, assignment)
        if path:
            nested.add(name)
            whole = assigned.get(name, target.column(target.own[target.columns.index(name)]))
            assigned[name] = with_field(whole, target.types[name], path, value, Alignment(target.table.name, name))
        else:
            assigned[name] = value
    return assigned


def _value(target: Target, name: str, assignment: Assignment) -> Column:
    if assignment.is_default:
        return default_value(target.table.schema.field_by_name[name])
    return target.column(assignment.value)


def assigned_name(target: Target, assignment: Assignment) -> str:
    """Return the name of the column that an assignment names, even if the table lacks it."""
    return _assigned_path(target, assignment)[0]


def _assigned_path(target: Target, assignment: Assignment) -> Sequence[str]:
    """Return the name of an assigned column and the path to a field in it, without the table's name."""
    parts = assignment.parts
    for qualifier in target.qualifiers:
        own = [p.lower() for p in parts[: len(qualifier)]]
        if len(parts) > len(qualifier) and own == [q.lower() for q in qualifier]:
            return parts[len(qualifier) :]
    return parts


def _assigned_column(target: Target, assignment: Assignment) -> tuple[str, Sequence[str]]:
    """Return the column that an assignment names, and the path of the field in it."""
    parts = _assigned_path(target, assignment)
    known_as = target.session.known_as
    named = [c for c in target.columns if known_as(c) == known_as(parts[0])]
    if len(named) > 1:
        raise InvalidDataError(
            f"Column {parts[0]!r} of {target.table.name} is ambiguous, it could be {' or '.join(named)}: set "
            f"spark.sql.caseSensitive to distinguish them{assignment.position}."
        )
    if not named:
        raise ColumnNotFoundError(
            f"Table {target.table.name} has no column {parts[0]!r} to assign; its columns are "
            f"{', '.join(target.columns)}{assignment.position}."
        )
    return named[0], parts[1:]


def _only_partitions(target: Target, matching: DataFrame) -> bool:
    """Return whether only partition columns decide which rows match."""
    found = deciding_columns(filter_condition(matching))
    return found is not None and found <= set(target.table.schema.partition_keys)


def _in_numbers(name: str, kind: Kind) -> Column:
    """Return a column as the numbers that Spark stores. Python's dates and times would support only the years 1 to
    9999.
    """
    text = quoted_name(name)
    if kind is Kind.DATE:
        return F.unix_date(F.col(text))
    if kind is Kind.TIMESTAMP:
        return F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {text})")
    return F.unix_micros(F.col(text)) if kind is Kind.TIMESTAMP_LTZ else F.col(text)


def delete_partitions(target: Target, matching: DataFrame) -> None:
    """Remove the partitions of the rows that match, by metadata only."""
    schema = target.table.schema
    values = [_in_numbers(field.name, field.type.kind) for field in schema.partition_fields]
    rows = matching.select(*map(quoted_name, schema.partition_keys)).distinct().select(*values).collect()
    if not rows:
        return
    partitions = (map(core_value, row, schema.partition_fields) for row in rows)
    info = CommitInfo(user=target.table.new_commit_user(), operation=Operation.TRUNCATE)
    target.table.truncate(info, Or(tuple(equals(schema.partition_keys, p) for p in partitions)))
