"""`MERGE INTO target USING source ON …` as one join. For each joined row, the first WHEN clause that applies is taken.

An expression sees only the sides that its clause allows: WHEN MATCHED sees both sides, NOT MATCHED only the source, and
NOT MATCHED BY SOURCE only the target.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.lazy import cached_property
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER
from paimon_core.options import MERGE_SCHEMA
from paimon_core.row_level.rules import merge_rules
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.expressions import canonical_text, data_type_of, equal_pairs
from paimon_sql.spark.jvm.frames import bound, frame, narrowed, small_source
from paimon_sql.spark.jvm.plans import Merge, MergeAction
from paimon_sql.spark.statements.row_level import Changes, Target, assigned_columns, assigned_name
from paimon_sql.spark.tables.schema_evolution import schema_changes
from paimon_sql.spark.write.store_assignment import default_value

_IN_TARGET, _IN_SOURCE, _ACTION = "__paimon_in_target", "__paimon_in_source", "__paimon_action"
_MERGE = "MERGE INTO"


@dataclass(frozen=True, slots=True)
class _Action:
    """One WHEN clause: the condition of the rows it applies to, and their new values. Without `values` it deletes the
    row.
    """

    applies: Column
    kind: int
    values: tuple[Column, ...] | None


def brings_columns(table: Table, plan: Merge) -> bool:
    """Return whether a parsed MERGE INTO may add columns to its table."""
    return plan.evolves or table.store.options[MERGE_SCHEMA]


def new_columns(target: Target, plan: Merge) -> list[SchemaChange]:
    """Return the schema changes that the target needs before a merge that adds columns. It gets the source's columns if
    a clause has `*`, and assigned columns that it lacks.
    """
    actions = [*plan.matched, *plan.not_matched]
    source, known_as = _source(target, plan).schema.toNullable(), target.session.known_as
    if not any(a.is_star for a in actions):
        named = {known_as(assigned_name(target, given)) for a in actions for given in a.assignments}
        source = StructType([f for f in source.fields if known_as(f.name) in named])
    return schema_changes(target.table.store, source, known_as)


def merged_rows(target: Target, plan: Merge, *, runs: bool) -> Changes:
    """Return the changes of a parsed MERGE INTO. With `runs`, the rows of a small source are fetched first."""
    merge, actions = _joined(target, plan, runs)
    number = F.lit(None).cast("int")
    for i, action in reversed(list(enumerate(actions))):
        number = F.when(action.applies, F.lit(i)).otherwise(number)
    rules = merge_rules(target.table.store, target.before, merge.updated, once=merge.decides)
    if any(a.values is None for a in actions):
        target.check_deletable()
    acted = merge.joined.withColumn(_ACTION, number).filter(F.col(_ACTION).isNotNull())
    kind = _choose([F.lit(a.kind) for a in actions])
    deleted = merge.kept_columns if target.table.schema.primary_keys else target.nulls()
    if rules.updates is not None and not target.row_rules.checks:
        actions = [_without_kept(a, target, merge.updated) for a in actions]
    columns = [_choose([(a.values or deleted)[i] for a in actions]) for i in range(len(target.columns))]
    changes = target.checked(target.changes(acted, kind, columns), None if rules.updates is None else merge.updated)
    return Changes(changes, rules)


def _joined(target: Target, plan: Merge, runs: bool) -> tuple[_JoinedSides, list[_Action]]:
    """Return the sides of a MERGE and its actions. The statement's errors are raised before its source runs."""
    source, checked = _source(target, plan), None
    if not plan.not_matched_by_source:  # else all rows of the target count
        few = _few(target, source, runs=False)
        if few is None and runs:
            checked = _sides(target, plan, source)
            few = _few(target, source, runs=True)
        if few is not None:
            with suppress(CapturedException):  # columns that only the source itself has, as `_metadata`
                return _sides(target, plan, frame(target.jvm, target.session.session, few), is_small=True)
    return checked or _sides(target, plan, source)


def _few(target: Target, source: DataFrame, *, runs: bool) -> Any | None:
    return small_source(target.jvm, target.session.session, source, target.reference, runs=runs)


def _sides(
    target: Target, plan: Merge, source: DataFrame, *, is_small: bool = False
) -> tuple[_JoinedSides, list[_Action]]:
    sides = _JoinedSides(target, plan, source, is_small=is_small)
    return sides, sides.actions()


def _source(target: Target, plan: Merge) -> DataFrame:
    return frame(target.jvm, target.session.session, plan.source)


def _without_kept(action: _Action, target: Target, updated: Collection[str]) -> _Action:
    """Return an update without the columns that no action assigns. These columns are not written, so the statement need
    not read them.
    """
    if action.kind != ROW_UPDATE_AFTER or action.values is None:
        return action
    values = zip(target.columns, action.values, target.nulls(), strict=True)
    return replace(action, values=tuple(v if c in updated else null for c, v, null in values))


def _choose(values: Sequence[Column]) -> Column:
    """Return the value of the action that was taken."""
    chosen = values[-1]
    for i, value in reversed(list(enumerate(values[:-1]))):
        chosen = F.when(F.col(_ACTION) == i, value).otherwise(chosen)
    return chosen


def _texts(*expressions: Any) -> set[str]:
    """Return texts for expressions: expressions with the same value have the same text, even if the statement spells
    the columns differently.
    """
    return set(map(canonical_text, expressions))


class _JoinedSides:
    """The sides of a MERGE and their join."""

    def __init__(self, target: Target, plan: Merge, source: DataFrame, *, is_small: bool = False) -> None:
        self.target, self.plan = target, plan
        self.fills = brings_columns(target.table, plan)
        self.given = set(map(target.session.known_as, source.columns))
        self.left, self.right = target.frame, source
        how = {(False, False): "inner", (True, False): "right", (False, True): "left", (True, True): "full"}
        condition = target.column(plan.condition)
        # resolve the statement without the mark columns, so that error messages do not suggest them
        self.both = self.left.join(self.right, condition)
        target.check_no_views_read(_MERGE, lambda: bound(self.both, [condition]))
        if is_small:
            self.left = narrowed(target.jvm, self.left, self.both)
        left, right = self.left.withColumn(_IN_TARGET, F.lit(True)), self.right.withColumn(_IN_SOURCE, F.lit(True))
        self.joined = left.join(right, condition, how[bool(plan.not_matched), bool(plan.not_matched_by_source)])
        self.kept = target.own
        self.updated: set[str] = set()  # columns that at least one action assigns
        self.in_target, self.in_source = self._columns(
            [*bound(left, [F.col(_IN_TARGET)]), *bound(right, [F.col(_IN_SOURCE)])]
        )

    @property
    def decides(self) -> bool:
        """Return whether several source rows for one target row are a conflict. They are not if the merge deletes all
        matches.
        """
        matched = self.plan.matched
        deletes_all = len(matched) == 1 and matched[0].kind == "delete" and matched[0].condition is None
        return bool(matched) and not deletes_all

    @property
    def kept_columns(self) -> list[Column]:
        """Return the target's own values."""
        return self._columns(self.kept)

    def actions(self) -> list[_Action]:
        """Return the clauses in their order."""
        both = self.in_target.isNotNull() & self.in_source.isNotNull()
        inserts = self.in_target.isNull() & self.in_source.isNotNull()
        sourceless = self.in_target.isNotNull() & self.in_source.isNull()
        return [
            *(self._action(a, self.both, both, self._updated) for a in self.plan.matched),
            *(self._action(a, self.right, inserts, self._inserted) for a in self.plan.not_matched),
            *(self._action(a, self.left, sourceless, self._updated) for a in self.plan.not_matched_by_source),
        ]

    def _action(
        self,
        action: MergeAction,
        seen: DataFrame,
        where: Column,
        new: Callable[[MergeAction, DataFrame], tuple[Column, ...]],
    ) -> _Action:
        applies = where
        if action.condition is not None:
            stated = bound(seen, [self.target.column(action.condition)])
            self.target.check_no_views_read(_MERGE, lambda: stated)
            applies = where & self._columns(stated)[0]
        if action.kind == "delete":
            return _Action(applies, ROW_DELETE, None)
        return _Action(applies, ROW_INSERT if action.kind == "insert" else ROW_UPDATE_AFTER, new(action, seen))

    def _updated(self, action: MergeAction, seen: DataFrame) -> tuple[Column, ...]:
        values = self._starred() if action.is_star else self._assigned(action, seen)
        self._check_keys(values)
        made = self.target.row_rules.made_anew(values)  # NULL here: `checked` computes their values
        self.updated |= values.keys() | set(made)
        kept = dict(zip(self.target.columns, self.kept_columns, strict=True))
        kept |= {c: null for c, null in zip(self.target.columns, self.target.nulls(), strict=True) if c in made}
        return tuple(
            self._stored(c, values[c], kept[c] if action.is_star and self.fills else None) if c in values else kept[c]
            for c in self.target.columns
        )

    def _inserted(self, action: MergeAction, seen: DataFrame) -> tuple[Column, ...]:
        columns, fields = self.target.columns, self.target.table.schema.field_by_name
        values = self._starred() if action.is_star else self._assigned(action, seen)
        defaults = {c: default_value(fields[c]) for c in columns}
        return tuple(self._stored(c, values[c]) if c in values else defaults[c] for c in columns)

    def _starred(self) -> dict[str, Any]:
        """Return the source's columns by the target's names. Raises `InvalidDataError` if the source lacks one, unless
        the merge fills in missing columns.
        """
        known_as = self.target.session.known_as
        columns = [c for c in self.target.columns if known_as(c) in self.given]
        made = self.target.row_rules.made
        missing = [c for c in self.target.columns if known_as(c) not in self.given and c not in made]
        if missing and not self.fills:
            raise InvalidDataError(
                f"MERGE INTO {self.target.table.name}: '*' stands for all columns of the table, and the source has no "
                f"{missing[0]!r}. Name the columns to write, or set 'write.merge-schema'."
            )
        return dict(zip(columns, bound(self.right, self._named(columns)), strict=True))

    def _stored(self, name: str, expression: Any, kept: Column | None = None) -> Column:
        return self.target.stored(name, self.target.column(expression), data_type_of(expression), self.fills, kept)

    def _assigned(self, action: MergeAction, seen: DataFrame) -> dict[str, Any]:
        assigned = assigned_columns(self.target, action.assignments)
        values = bound(seen, list(assigned.values()))
        self.target.check_no_views_read(_MERGE, lambda: values)
        return dict(zip(assigned, values, strict=True))

    def _named(self, columns: Iterable[str]) -> list[Column]:
        return [F.col(quoted_name(c)) for c in columns]

    def _check_keys(self, values: Mapping[str, Any]) -> None:
        """Raise an error if a clause assigns another value to a key column than the value that the ON condition makes
        it equal to.
        """
        kept = dict(zip(self.target.columns, self.kept, strict=True))
        for key in self.target.table.schema.primary_keys:
            pair = _texts(kept[key], values.get(key, kept[key]))
            if len(pair) > 1 and pair not in self._equal_columns:
                raise UnsupportedFeatureError(
                    f"Table {self.target.table.name}: column {key!r} belongs to the primary key and cannot be updated, "
                    "except to a value that ON requires it to equal. Delete the row and insert it with its new key."
                )

    @cached_property
    def _equal_columns(self) -> list[set[str]]:
        """Return the pairs of columns that the ON condition requires to be equal."""
        (condition,) = bound(self.both, [self.target.column(self.plan.condition)])
        return [_texts(*pair) for pair in equal_pairs(condition)]

    def _columns(self, expressions: Iterable[Any]) -> list[Column]:
        return [self.target.column(e) for e in expressions]
