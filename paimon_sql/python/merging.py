"""MERGE in Python: the rows of a table are joined with a source, and clauses change, delete and insert rows.

The rules are the ones of `MERGE INTO` in Spark. Expressions name columns as `target.x` and `source.x`. The source is in
memory, the table's rows are a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.arrow.table_fields import table_fields
from paimon_core.arrow.types import arrow_schema, plain_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, UnsupportedFeatureError
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER
from paimon_core.options import DATA_EVOLUTION, MERGE_SCHEMA
from paimon_core.row_level.rules import check_deletable, merge_rules
from paimon_core.spec.types import BOOLEAN
from paimon_core.store.blob.columns import check_no_views_read
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.python.assignment import rows_of
from paimon_sql.python.changed_rows import (
    ChangedRows,
    check_changed,
    commit_changes,
    computed_value,
    made_anew,
    rows_to_change,
)
from paimon_sql.python.matching import SOURCE, TARGET, Matches, Pairing, Sides, as_rows, columns_of
from paimon_sql.python.scan import TableScan
from paimon_sql.python.where.bound import Bound, literal
from paimon_sql.python.where.condition import Computed, Condition

_Action: TypeAlias = Literal["update", "insert", "delete"] | Mapping[str, Any]
Clauses: TypeAlias = _Action | tuple[str, _Action] | Sequence[_Action | tuple[str, _Action]]
_KINDS = {"update": ROW_UPDATE_AFTER, "insert": ROW_INSERT, "delete": ROW_DELETE}


@dataclass(frozen=True, slots=True)
class MergeClauses:
    """The clauses of a merge, as a program gives them."""

    matched: Clauses
    not_matched: Clauses
    not_matched_by_source: Clauses


def merge_rows(table: Table, data: Any, on: str | Sequence[str], given: MergeClauses) -> None:
    """Merge rows into a table. Raises the errors of `PaimonTable.merge`."""
    check_changed(table, replacing="MERGE INTO")
    if table.store.options[MERGE_SCHEMA]:
        raise UnsupportedFeatureError(
            f"Table {table.name}: merge cannot add columns ('{MERGE_SCHEMA.key}') without Spark: add them by "
            "alter(add=…) first, and write with the option 'false'."
        )
    source = _source(table, data)
    sides = Sides(table.schema.fields, table_fields(source.schema), table.store.zone)
    pairing = Pairing.of(on, sides)
    merge = _Merge.of(table, sides, pairing, given)
    check_no_views_read(table.store, sorted(merge.read_columns), "MERGE INTO")
    if merge.deletes:
        check_deletable(table.store, table.hides_rows)
    rules = merge_rules(table.store, table.latest_snapshot(), merge.updated, once=merge.decides)
    matches = Matches(as_rows(source, sides.source), pairing)
    rows = rows_to_change(table, None, merge.target_columns(moves_rows=rules.moves_rows), is_query=True)
    commit_changes(table, rules, merge.changes(_narrowed(rows, merge, matches), matches))


def _source(table: Table, data: Any) -> pa.Table:
    """The rows of the source in memory, with types that a table can have."""
    found = rows_of(data, table.schema.fields).read_all()
    known = {f.name: f.type for f in arrow_schema(table.schema.fields)}
    untyped = {f.name: known.get(f.name, pa.string()) for f in found.schema if pa.types.is_null(f.type)}
    typed = pa.schema([pa.field(f.name, untyped.get(f.name, f.type), f.nullable) for f in found.schema])
    if len(set(typed.names)) < len(typed.names):
        raise InvalidDataError(f"The source of the merge into {table.name} has two columns of one name: rename one.")
    try:
        return found.cast(plain_schema(arrow_schema(table_fields(typed))))
    except pa.ArrowInvalid as e:
        raise InvalidDataError(f"The source of the merge into {table.name} cannot be used: {e}") from e


def _narrowed(rows: TableScan, merge: _Merge, matches: Matches) -> TableScan:
    """The rows of the table that can have a pair, if the merge needs no others."""
    reachable = None if merge.by_source else matches.reachable()
    if reachable is None:
        return rows
    return replace(rows, condition=Condition("keys of the source", reachable, rows.table.store.zone))


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause: the rows to which it applies (None: all), and their new values. Without `values`, it deletes rows."""

    kind: int
    applies: Bound | None
    values: Mapping[str, Computed] | None

    def columns(self, side: str) -> frozenset[str]:
        """Return the columns of a side that the clause reads."""
        roots = [self.applies, *(c.root for c in (self.values or {}).values())]
        return frozenset(name for root in roots if root is not None for name in columns_of(root, side))


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge into a table: its clauses, and the rows that they make."""

    table: Table
    sides: Sides
    pairing: Pairing
    matched: tuple[_Clause, ...]
    not_matched: tuple[_Clause, ...]
    by_source: tuple[_Clause, ...]
    rows: ChangedRows

    @staticmethod
    def of(table: Table, sides: Sides, pairing: Pairing, given: MergeClauses) -> _Merge:
        reader = _ClauseReader(table, sides, pairing)
        changing = ("update", "delete")
        made = _Merge(
            table,
            sides,
            pairing,
            tuple(reader.clauses("when_matched", given.matched, changing, (TARGET, SOURCE))),
            tuple(reader.clauses("when_not_matched", given.not_matched, ("insert",), (SOURCE,))),
            tuple(reader.clauses("when_not_matched_by_source", given.not_matched_by_source, changing, (TARGET,))),
            ChangedRows.of(table),
        )
        if not made._clauses:
            raise InvalidDataError(f"merge into {table.name} needs a clause: when_matched, when_not_matched, or both.")
        return made

    @property
    def _clauses(self) -> tuple[_Clause, ...]:
        return (*self.matched, *self.not_matched, *self.by_source)

    @property
    def deletes(self) -> bool:
        return any(c.values is None for c in self._clauses)

    @property
    def updated(self) -> frozenset[str]:
        """The columns that at least one clause assigns in rows that exist."""
        return frozenset(name for c in (*self.matched, *self.by_source) for name in c.values or ())

    @property
    def _kept(self) -> frozenset[str]:
        """Return the columns that some updates assign and other updates do not. These columns are written too, so the
        other updates write their old values.
        """
        updates = [c.values.keys() for c in (*self.matched, *self.by_source) if c.values is not None]
        return self.updated - frozenset(name for name in self.updated if all(name in of for of in updates))

    @property
    def decides(self) -> bool:
        """Whether several source rows for one row of the table are an error, as in Spark."""
        deletes_all = [(c.kind, c.applies) for c in self.matched] == [(ROW_DELETE, None)]
        return bool(self.matched) and not deletes_all

    def target_columns(self, *, moves_rows: bool) -> list[str]:
        """Return the columns of the table that the merge reads."""
        names = [f.name for f in self.table.schema.fields]
        keeps_rows = moves_rows and bool(self.updated)
        if keeps_rows or (self.deletes and self.table.store.has_primary_key):
            return names
        used = self.read_columns | self.rows.checks.columns | self._kept
        return [n for n in names if n in used]

    @property
    def read_columns(self) -> frozenset[str]:
        """The columns of the table that the clauses and the condition of the merge read."""
        return self.pairing.target_columns().union(*(c.columns(TARGET) for c in self._clauses))

    def changes(self, rows: TableScan, matches: Matches) -> Iterator[pa.RecordBatch]:
        """Yield the changes of the merge, the rows of the table first."""
        fields = [f for f in self.sides.target if f.name in rows.columns]
        for batch in self.rows.in_place(rows):
            target = as_rows(batch, fields)
            found, both = matches.pairs(target)
            parts = list(self._acted(self.matched, both, batch, found))
            if self.by_source:
                alone = np.setdiff1d(np.arange(batch.num_rows), found)
                row = pa.record_batch({TARGET: target.take(int64_array(alone))})
                parts += self._acted(self.by_source, row, batch, alone)
            yield from self._ordered(parts)
        yield from self._inserted(matches)

    def _ordered(self, parts: Sequence[tuple[NDArray[np.int64], pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a batch. With data evolution, changes must come in the order of the rows."""
        if not self.table.store.options[DATA_EVOLUTION] or len(parts) < 2:
            yield from (changes for _, changes in parts)
            return
        schema = parts[0][1].schema
        whole = pa.concat_tables([pa.table(changes).cast(schema) for _, changes in parts])
        order = np.argsort(np.concatenate([places for places, _ in parts]), kind="stable")
        yield from whole.take(int64_array(order)).combine_chunks().to_batches()

    def _inserted(self, matches: Matches) -> Iterator[pa.RecordBatch]:
        """Yield the new rows. A clause makes them of source rows that match no row of the table."""
        alone = np.flatnonzero(~matches.matched)
        rows = pa.record_batch({SOURCE: matches.source.take(int64_array(alone))})
        for clause, chosen in self._chosen(self.not_matched, rows):
            part = rows.take(int64_array(chosen))
            yield self.rows.inserted({name: c.values(part) for name, c in (clause.values or {}).items()})

    def _acted(
        self, clauses: Sequence[_Clause], both: pa.RecordBatch, old: pa.RecordBatch, places: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]:
        """Yield the changes of rows that exist, with the places of these rows in their batch `old`."""
        for clause, chosen in self._chosen(clauses, both):
            kept = old.take(int64_array(places[chosen]))
            if clause.values is None:
                yield places[chosen], self.rows.deleted(kept)
                continue
            part = both.take(int64_array(chosen))
            yield places[chosen], self.rows.updated(kept, {n: c.values(part) for n, c in clause.values.items()})

    def _chosen(self, clauses: Sequence[_Clause], rows: pa.RecordBatch) -> Iterator[tuple[_Clause, NDArray[np.int64]]]:
        """Yield the rows of each clause. If several clauses apply to a row, the first one gets it."""
        left = np.arange(rows.num_rows)
        for clause in clauses:
            chosen = left
            if clause.applies is not None:
                holds = Condition("", clause.applies, self.sides.zone).evaluated(rows.take(int64_array(left)))
                is_true = pc.fill_null(holds, False).to_numpy(zero_copy_only=False)
                chosen, left = left[is_true], left[~is_true]
            if len(chosen):
                yield clause, chosen
            if clause.applies is None:
                return


@dataclass(frozen=True, slots=True)
class _ClauseReader:
    """Reads the clauses that a program gives."""

    table: Table
    sides: Sides
    pairing: Pairing

    def clauses(self, argument: str, given: Clauses, allowed: Sequence[str], seen: Sequence[str]) -> Iterator[_Clause]:
        """Yield the clauses of an argument. Raises `InvalidDataError` for a clause that is not among `allowed`."""
        is_one = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
        is_one = is_one or (isinstance(given, tuple) and _is_conditional(given))
        action: Any
        for clause in [given] if is_one else given:
            condition, action = clause if isinstance(clause, tuple) and len(clause) == 2 else (None, clause)
            word = action if isinstance(action, str) else allowed[0]
            is_named = isinstance(action, Mapping) and all(isinstance(name, str) for name in action)
            if word not in allowed or not (isinstance(action, str) or is_named):
                words = " or ".join(map(repr, allowed))
                raise InvalidDataError(
                    f"{argument} cannot be {action!r}: give {words}, a dict of new values, or a pair of a condition "
                    "and one of these."
                )
            values = None if word == "delete" else self._values(word, action, seen)
            applies = None if condition is None else self._condition(condition, seen)
            if word == "update" and values is not None:
                self._check_keys(values)
            yield _Clause(_KINDS[word], applies, values)

    def _condition(self, text: Any, seen: Sequence[str]) -> Bound:
        found = Condition.of(text, self.sides.fields(*seen), self.sides.zone).root
        return literal(None, BOOLEAN) if found.is_null else found

    def _values(self, word: str, action: str | Mapping[str, Any], seen: Sequence[str]) -> dict[str, Computed]:
        fields = self.sides.fields(*seen)
        if isinstance(action, Mapping):
            made = [computed_value(self.table, name, value, fields) for name, value in action.items()]
        else:
            made = [self._same(name) for name in self._starred(word, seen)]
        found = {c.column: c for c in made}
        if not found or len(found) < len(made):
            raise InvalidDataError(
                f"{word.upper()} in a merge into {self.table.name} must assign at least one column, and each only once."
            )
        return found | made_anew(self.table, found) if word == "update" else found

    def _starred(self, word: str, seen: Sequence[str]) -> list[str]:
        """The columns that a clause without values assigns: all of the table."""
        given = {f.name for f in self.sides.source} if SOURCE in seen else set()
        names = [f.name for f in self.table.schema.fields]
        made = RowRules.of(self.table.schema).made
        if missing := [name for name in names if name not in given | made]:
            raise ColumnNotFoundError(
                f"merge into {self.table.name}: {word!r} stands for all columns of the table, and the source has no "
                f"{missing[0]!r}. Name the columns to write, as in {{'amount': 'source.amount'}}."
            )
        return [name for name in names if name in given]

    def _same(self, name: str) -> Computed:
        quoted = "`" + name.replace("`", "``") + "`"
        return Computed.of(name, f"{SOURCE}.{quoted}", self.sides.fields(SOURCE), self.sides.zone)

    def _check_keys(self, values: Mapping[str, Computed]) -> None:
        """Raise an error if a clause assigns another value to a key column than the value that the condition makes it
        equal to.
        """
        fields = self.sides.fields(TARGET)
        for key in (k for k in self.table.schema.primary_keys if k in values):
            quoted = "`" + key.replace("`", "``") + "`"
            own, new = Computed.of(key, f"{TARGET}.{quoted}", fields, None).root, values[key].root
            if own is None or new is None or (new != own and not self.pairing.requires_equal(own, new)):
                raise UnsupportedFeatureError(
                    f"Table {self.table.name}: column {key!r} belongs to the primary key and cannot be updated, except "
                    "to a value that the merge's condition requires it to equal. Delete the row and insert it with its "
                    "new key."
                )


def _is_conditional(given: tuple[Any, ...]) -> bool:
    """Return whether a tuple is a clause with a condition, not several clauses: two texts, or a text and a dict."""
    return len(given) == 2 and isinstance(given[0], str) and given[0] not in _KINDS
