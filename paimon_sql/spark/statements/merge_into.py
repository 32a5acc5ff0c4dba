"""`MERGE INTO target USING source ON …`: one join, in whose rows the first action that applies decides.

Each expression is resolved where the statement may see it: those of WHEN MATCHED over both sides, those of NOT MATCHED
over the source alone, those of NOT MATCHED BY SOURCE over the target alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, _parse_datatype_json_string

from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER
from paimon_core.options import MERGE_SCHEMA
from paimon_core.row_level.rules import merge_rules
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.gateway import class_name
from paimon_sql.spark.statements.row_level import Changes, Target, assigned_columns, assigned_name
from paimon_sql.spark.tables.schema_evolution import schema_changes

_STARS = ("UpdateStarAction", "InsertStarAction")
_IN_TARGET, _IN_SOURCE, _ACTION = "__paimon_in_target", "__paimon_in_source", "__paimon_action"


@dataclass(frozen=True, slots=True)
class _Action:
    """One WHEN clause: where it applies, and what a row becomes; `values` None: the row is deleted."""

    applies: Column
    kind: int
    values: tuple[Column, ...] | None


def brings_columns(table: Table, plan: Any) -> bool:
    """Whether a parsed `MergeIntoTable` brings new columns with it."""
    return bool(plan.withSchemaEvolution()) or table.store.options[MERGE_SCHEMA]


def new_columns(target: Target, plan: Any) -> list[SchemaChange]:
    """What has to change in the target's schema before a merge that evolves it: columns of the source that `*` stands
    for, or that are assigned and not there."""
    actions = [*target.jvm.items(plan.matchedActions()), *target.jvm.items(plan.notMatchedActions())]
    source, known_as = _source(target, plan).schema.toNullable(), target.session.known_as
    if not any(class_name(a) in _STARS for a in actions):
        assigning = [a for a in actions if class_name(a) != "DeleteAction"]
        keys = [assigned_name(target, k.key()) for a in assigning for k in target.jvm.items(a.assignments())]
        named = {known_as(k) for k in keys}
        source = StructType([f for f in source.fields if known_as(f.name) in named])
    return schema_changes(target.table.store, source, known_as)


def merged_rows(target: Target, plan: Any) -> Changes:
    """The changes of a parsed `MergeIntoTable`."""
    merge = _Merge(target, plan)
    actions = merge.actions()
    number = F.lit(None).cast("int")
    for i, action in reversed(list(enumerate(actions))):
        number = F.when(action.applies, F.lit(i)).otherwise(number)
    rules = merge_rules(target.table.store, target.before, merge.updated, once=merge.decides)
    if any(a.values is None for a in actions):
        target.check_deletable()
    acted = merge.joined.withColumn(_ACTION, number).filter(F.col(_ACTION).isNotNull())
    kind = _choose([F.lit(a.kind) for a in actions])
    deleted = merge.kept_columns if target.table.schema.primary_keys else [F.lit(None)] * len(target.columns)
    if rules.updates is not None:
        actions = [_without_kept(a, target.columns, merge.updated) for a in actions]
    columns = [_choose([(a.values or deleted)[i] for a in actions]) for i in range(len(target.columns))]
    return Changes(target.changes(acted, kind, columns), rules)


def _source(target: Target, plan: Any) -> DataFrame:
    return DataFrame(target.jvm.frame(target.session.session, plan.sourceTable()), target.spark)


def _without_kept(action: _Action, columns: Sequence[str], updated: Collection[str]) -> _Action:
    """An update without the columns that no action assigns: these are not written, so they need not be read."""
    if action.kind != ROW_UPDATE_AFTER or action.values is None:
        return action
    values = zip(columns, action.values, strict=True)
    return replace(action, values=tuple(v if c in updated else F.lit(None) for c, v in values))


def _choose(values: Sequence[Column]) -> Column:
    """The value of the action that was taken."""
    chosen = values[-1]
    for i, value in reversed(list(enumerate(values[:-1]))):
        chosen = F.when(F.col(_ACTION) == i, value).otherwise(chosen)
    return chosen


def _told_apart(*expressions: Any) -> set[str]:
    """Texts that are the same for the same value, however the statement spells its columns."""
    return {str(e.canonicalized().toString()) for e in expressions}


class _Merge:
    """The sides of a MERGE and their join."""

    def __init__(self, target: Target, plan: Any) -> None:
        self.target, self.plan, self.jvm = target, plan, target.jvm
        self.fills = brings_columns(target.table, plan)
        source = _source(target, plan)
        self.given = set(map(target.session.known_as, source.columns))
        self.left, self.right = target.frame, source
        self.matched = self.jvm.items(plan.matchedActions())
        self.unmatched = self.jvm.items(plan.notMatchedActions())
        self.sourceless = self.jvm.items(plan.notMatchedBySourceActions())
        how = {(False, False): "inner", (True, False): "right", (False, True): "left", (True, True): "full"}
        condition = target.column(plan.mergeCondition())
        # the statement is resolved without the marks, which no message should suggest
        self.both = self.left.join(self.right, condition)
        left, right = self.left.withColumn(_IN_TARGET, F.lit(True)), self.right.withColumn(_IN_SOURCE, F.lit(True))
        self.joined = left.join(right, condition, how[bool(self.unmatched), bool(self.sourceless)])
        self.kept = target.own
        self.updated: set[str] = set()  # columns that some action assigns
        self.in_target, self.in_source = self._columns(
            [*self._bind(left, [F.col(_IN_TARGET)]), *self._bind(right, [F.col(_IN_SOURCE)])]
        )

    @property
    def decides(self) -> bool:
        """Whether it matters that several source rows match one of the target: not where all that match are deleted."""
        only_delete = len(self.matched) == 1 and class_name(self.matched[0]) == "DeleteAction"
        return bool(self.matched) and not (only_delete and self.matched[0].condition().isEmpty())

    @property
    def kept_columns(self) -> list[Column]:
        """The target's own values."""
        return self._columns(self.kept)

    def actions(self) -> list[_Action]:
        """The clauses in their order."""
        both = self.in_target.isNotNull() & self.in_source.isNotNull()
        inserts = self.in_target.isNull() & self.in_source.isNotNull()
        alone = self.in_target.isNotNull() & self.in_source.isNull()
        return [
            *(self._action(a, self.both, both, self._updated) for a in self.matched),
            *(self._action(a, self.right, inserts, self._inserted) for a in self.unmatched),
            *(self._action(a, self.left, alone, self._updated) for a in self.sourceless),
        ]

    def _action(
        self, action: Any, seen: DataFrame, where: Column, new: Callable[[Any, DataFrame], tuple[Column, ...]]
    ) -> _Action:
        condition = action.condition()
        applies = where
        if condition.isDefined():
            (stated,) = self._columns(self._bind(seen, [self.target.column(condition.get())]))
            applies = where & stated
        if class_name(action) == "DeleteAction":
            return _Action(applies, ROW_DELETE, None)
        return _Action(
            applies, ROW_INSERT if class_name(action).startswith("Insert") else ROW_UPDATE_AFTER, new(action, seen)
        )

    def _updated(self, action: Any, seen: DataFrame) -> tuple[Column, ...]:
        is_star = class_name(action) == "UpdateStarAction"
        values = self._starred() if is_star else self._assigned(action, seen)
        self._check_keys(values)
        self.updated |= values.keys()
        kept = dict(zip(self.target.columns, self.kept_columns, strict=True))
        return tuple(
            self._stored(c, values[c], kept[c] if is_star and self.fills else None) if c in values else kept[c]
            for c in self.target.columns
        )

    def _inserted(self, action: Any, seen: DataFrame) -> tuple[Column, ...]:
        columns, fields = self.target.columns, self.target.table.schema.field_by_name
        values = self._starred() if class_name(action) == "InsertStarAction" else self._assigned(action, seen)
        defaults = {c: F.lit(None) if (d := fields[c].default) is None else F.expr(d) for c in columns}
        return tuple(self._stored(c, values[c]) if c in values else defaults[c] for c in columns)

    def _starred(self) -> dict[str, Any]:
        """The source's columns of the target's names; all of them, unless the merge fills in what it has not."""
        known_as = self.target.session.known_as
        columns = [c for c in self.target.columns if known_as(c) in self.given]
        missing = [c for c in self.target.columns if known_as(c) not in self.given]
        if missing and not self.fills:
            raise InvalidDataError(
                f"MERGE INTO {self.target.table.name}: '*' stands for all columns of the table, and the source has no "
                f"{missing[0]!r}. Name the columns to write, or set 'write.merge-schema'."
            )
        return dict(zip(columns, self._bind(self.right, self._named(columns)), strict=True))

    def _stored(self, name: str, expression: Any, kept: Column | None = None) -> Column:
        source = _parse_datatype_json_string(str(expression.dataType().json()))
        return self.target.stored(name, self.target.column(expression), source, self.fills, kept)

    def _assigned(self, action: Any, seen: DataFrame) -> dict[str, Any]:
        assigned = assigned_columns(self.target, self.jvm.items(action.assignments()))
        return dict(zip(assigned, self._bind(seen, list(assigned.values())), strict=True))

    def _named(self, columns: Iterable[str]) -> list[Column]:
        return [F.col(quoted_name(c)) for c in columns]

    def _check_keys(self, values: Mapping[str, Any]) -> None:
        """A key column may only be assigned what the ON condition says it is already."""
        kept = dict(zip(self.target.columns, self.kept, strict=True))
        for key in self.target.table.schema.primary_keys:
            pair = _told_apart(kept[key], values.get(key, kept[key]))
            if len(pair) > 1 and pair not in self._equal_columns:
                raise UnsupportedFeatureError(
                    f"Table {self.target.table.name}: column {key!r} belongs to the primary key and cannot be updated, "
                    "but to what the ON condition says it equals. Delete the row and insert it with its new key."
                )

    @cached_property
    def _equal_columns(self) -> list[set[str]]:
        """Pairs of columns that the ON condition says are equal."""
        found = []
        waiting = self._bind(self.both, [self.target.column(self.plan.mergeCondition())])
        while waiting:
            expression = waiting.pop()
            if class_name(expression) == "And":
                waiting += [expression.left(), expression.right()]
            elif class_name(expression) in ("EqualTo", "EqualNullSafe"):
                found.append(_told_apart(expression.left(), expression.right()))
        return found

    def _columns(self, expressions: Iterable[Any]) -> list[Column]:
        return [self.target.column(e) for e in expressions]

    def _bind(self, seen: DataFrame, columns: Sequence[Column]) -> list[Any]:
        """Catalyst expressions of columns as `seen` has them; they stay valid in a join of it."""
        if not columns:
            return []
        named = [c.alias(f"c{i}") for i, c in enumerate(columns)]
        projected = seen.select(*named)._jdf.queryExecution().analyzed()
        return [e.child() for e in self.jvm.items(projected.projectList())]
