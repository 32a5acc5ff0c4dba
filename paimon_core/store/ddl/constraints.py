"""Constraints of a table: conditions that every written row must satisfy, and keys that are information only.

A schema stores each constraint as an option `constraint.NAME` with a JSON object as its value. Other engines pass over
such options: their writers do not check rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from reprlib import repr as shortened

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.options import MERGE_ENGINE, TableOptions
from paimon_core.spec.json_object import member, text_list
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.generated_columns import JAVA_CALLS, GeneratedColumn, generated_of

CONSTRAINT_PREFIX = "constraint."
_OF_FILES = ("format-table", "object-table")
_MERGED = ("aggregation", "partial-update")  # a query returns other rows than the written rows


class ConstraintKind(StrEnum):
    """The kind of a constraint. Only CHECK can be enforced."""

    CHECK = "CHECK"
    PRIMARY_KEY = "PRIMARY KEY"
    UNIQUE = "UNIQUE"
    FOREIGN_KEY = "FOREIGN KEY"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint. `columns` are the columns that it names.

    A CHECK has a `condition` in Spark's SQL. A FOREIGN KEY names the columns `parent_columns` of the table `parent`.
    `relies` is RELY: queries may assume that the constraint holds.
    """

    name: str
    kind: ConstraintKind
    columns: tuple[str, ...]
    condition: str = ""
    enforced: bool = False
    relies: bool = False
    parent: tuple[str, ...] = ()
    parent_columns: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return the option that stores the constraint."""
        return CONSTRAINT_PREFIX + self.name

    @property
    def value(self) -> str:
        """Return the value of the option."""
        node: dict[str, object] = {"type": str(self.kind), "columns": list(self.columns), "enforced": self.enforced}
        if self.relies:
            node["rely"] = True
        if self.kind is ConstraintKind.CHECK:
            node["condition"] = self.condition
        if self.kind is ConstraintKind.FOREIGN_KEY:
            node |= {"parent": list(self.parent), "parentColumns": list(self.parent_columns)}
        return json.dumps(node, ensure_ascii=False)

    @property
    def sql(self) -> str:
        """Return the constraint as SQL spells it, without its name."""
        listed = f"{self.kind} ({', '.join(self.columns)})"
        match self.kind:
            case ConstraintKind.CHECK:
                listed = f"CHECK ({self.condition})"
            case ConstraintKind.FOREIGN_KEY:
                listed += f" REFERENCES {'.'.join(self.parent)} ({', '.join(self.parent_columns)})"
        return listed if self.enforced else f"{listed} NOT ENFORCED"


def constraints_of(options: Mapping[str, str]) -> tuple[Constraint, ...]:
    """Return the constraints among the options of a schema, by their names.

    Raises `UnsupportedFeatureError` for an option in a form that this version does not understand.
    """
    found = (_read(k.removeprefix(CONSTRAINT_PREFIX), v) for k, v in options.items() if k.startswith(CONSTRAINT_PREFIX))
    return tuple(sorted(found, key=lambda c: c.name))


def checks_of(options: Mapping[str, str]) -> tuple[Constraint, ...]:
    """Return the CHECK constraints that writers must enforce, also of generated columns. Raises as
    `constraints_of` and `generated_of`.
    """
    own = (c for c in constraints_of(options) if c.kind is ConstraintKind.CHECK and c.enforced)
    return (*own, *map(check_of, generated_of(options)))


def check_of(made: GeneratedColumn) -> Constraint:
    """Return the constraint that every value of a generated column is the value of its expression."""
    name, columns = f"of generated column {made.name}", (made.name, *made.columns)
    if made.zone:
        name += f" in {made.zone}"
    return Constraint(name, ConstraintKind.CHECK, columns, made.condition, enforced=True)


def constraint_key(options: Mapping[str, str], name: str) -> str | None:
    """Return the option of the constraint with a name, or None. Names are compared without case."""
    wanted = (CONSTRAINT_PREFIX + name).lower()
    return next((k for k in options if k.lower() == wanted and is_constraint(k)), None)


def is_constraint(key: str) -> bool:
    """Return whether an option stores a constraint."""
    return key.startswith(CONSTRAINT_PREFIX)


def check_constraints(schema: TableSchema, previous: TableSchema | None) -> None:
    """Raise `InvalidSchemaError`, `InvalidOptionError` or `UnsupportedFeatureError` for a new constraint that the table
    cannot have.
    """
    before = {} if previous is None else previous.options
    new = {k: v for k, v in schema.options.items() if is_constraint(k) and before.get(k) != v}
    for constraint in constraints_of(new):
        _check(schema, constraint)
    for made in generated_of({k: v for k, v in schema.options.items() if before.get(k) != v}):
        _check_enforceable(schema, check_of(made))
    names = [k.lower() for k in schema.options if is_constraint(k)]
    for key in new:
        if names.count(key.lower()) > 1:
            raise InvalidSchemaError(
                f"There are two constraints {key.removeprefix(CONSTRAINT_PREFIX)!r}: their names must differ in more "
                "than case. Choose another name."
            )


def check_not_constrained(schema: TableSchema, column: str, verb: str) -> None:
    """Raise `InvalidSchemaError` if a constraint names the column that would be changed."""
    for constraint in constraints_of(schema.options):
        if column in constraint.columns:
            raise InvalidSchemaError(
                f"Column {column!r} cannot be {verb}: constraint {constraint.name!r}, {constraint.sql}, names it. "
                f"Run ALTER TABLE … DROP CONSTRAINT {constraint.name} first."
            )


def check_constraint_set(options: Mapping[str, str], key: str) -> None:
    """Raise `InvalidOptionError` for an option that would replace a constraint of the table."""
    if is_constraint(key) and key in options:
        raise InvalidOptionError(
            f"Constraint {key.removeprefix(CONSTRAINT_PREFIX)!r} exists already: drop it first by ALTER TABLE … DROP "
            "CONSTRAINT, or choose another name."
        )


def refuse_constraint_option(keys: Iterable[str]) -> None:
    """Raise `InvalidOptionError` if a user sets or removes the option of a constraint: only ALTER TABLE … ADD
    CONSTRAINT checks existing rows.
    """
    for key in keys:
        if is_constraint(key):
            raise InvalidOptionError(
                f"Option {key!r} cannot be changed as an option, because it stores a constraint: use ALTER TABLE … "
                "ADD CONSTRAINT or DROP CONSTRAINT."
            )


def _check(schema: TableSchema, constraint: Constraint) -> None:
    names = [f.name for f in schema.fields]
    for column in constraint.columns:
        if column not in names:
            raise InvalidSchemaError(
                f"Constraint {constraint.name!r} cannot name column {column!r}: the table has {', '.join(names)}."
            )
    if constraint.enforced and constraint.kind is not ConstraintKind.CHECK:
        raise UnsupportedFeatureError(
            f"Constraint {constraint.name!r} cannot be enforced: only CHECK can. Write NOT ENFORCED."
        )
    _check_enforceable(schema, constraint)
    if constraint.kind is ConstraintKind.PRIMARY_KEY and set(schema.primary_keys) != set(constraint.columns):
        found = f"is ({', '.join(schema.primary_keys)})" if schema.primary_keys else "can only be set in CREATE TABLE"
        raise InvalidSchemaError(
            f"Constraint {constraint.name!r} cannot be a PRIMARY KEY of other columns: a primary key merges rows, and "
            f"the table's {found}. For information only, write UNIQUE (…) NOT ENFORCED."
        )


def _check_enforceable(schema: TableSchema, constraint: Constraint) -> None:
    """Raise `UnsupportedFeatureError` if queries of the table return other rows than writers write, as with
    aggregation. A constraint checks only written rows.
    """
    kind = schema.options.get("type", "table").strip().lower()
    if kind in _OF_FILES:
        raise UnsupportedFeatureError(
            f"A {kind} cannot have the constraint {constraint.name!r}, because programs write its files without "
            "this package. Leave the constraint out."
        )
    engine = TableOptions(schema.options)[MERGE_ENGINE]
    if constraint.enforced and schema.primary_keys and engine in _MERGED:
        raise UnsupportedFeatureError(
            f"Constraint {constraint.name!r} cannot be enforced with '{MERGE_ENGINE.key}' = '{engine}': queries return "
            "rows that are merged from several written rows, and only written rows are checked. Check the rows in the "
            "query that writes them."
        )


def _read(name: str, text: str) -> Constraint:
    try:
        node = json.loads(text)
        found = Constraint(
            name=name,
            kind=ConstraintKind(member(node, "type", str)),
            columns=tuple(text_list(node, "columns")),
            condition=member(node, "condition", str, ""),
            enforced=member(node, "enforced", bool, False),
            relies=member(node, "rely", bool, False),
            parent=tuple(text_list(node, "parent")),
            parent_columns=tuple(text_list(node, "parentColumns")),
        )
        return _checked(found)
    except (ValueError, TypeError, RecursionError) as e:
        raise UnsupportedFeatureError(
            f"Option '{CONSTRAINT_PREFIX}{name}' has the value {shortened(text)}, which this version does not "
            f"understand as a constraint ({e}): upgrade paimon-sql, or remove the option by ALTER TABLE … DROP "
            f"CONSTRAINT {name}."
        ) from e


def _checked(found: Constraint) -> Constraint:
    """Return a constraint. Raises `ValueError` for a constraint that must not reach Spark: writers evaluate its
    condition, and the file that contains it may be hostile.
    """
    if found.kind is ConstraintKind.CHECK and not found.condition.strip():
        raise ValueError("it has no condition")
    if JAVA_CALLS.search(found.condition):
        raise ValueError("its condition calls a method of Java")
    if found.kind is ConstraintKind.FOREIGN_KEY and not found.parent:
        raise ValueError("it does not name the table that it refers to")
    return found


def check_takes_rows(source: Mapping[str, str], target: Mapping[str, str], name: str) -> None:
    """Raise `UnsupportedFeatureError` if files of a table would get into a table `name` that has other constraints,
    because the constraints were not checked for their rows.

    `source` and `target` are the options of their schemas.
    """
    added = new_checks(source, target)
    if added:
        raise UnsupportedFeatureError(
            f"Table {name} cannot take files of another table or branch: its constraint {added[0].name!r}, "
            f"{added[0].sql}, was not checked for their rows. Write the rows by INSERT."
        )


def new_checks(known: Mapping[str, str], found: Mapping[str, str]) -> Sequence[Constraint]:
    """Return the checks of the schema options `found` that a writer with the schema options `known` does not have."""
    ours = set(checks_of(known))
    return [c for c in checks_of(found) if c not in ours]
