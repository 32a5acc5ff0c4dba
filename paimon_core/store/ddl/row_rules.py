"""The rules of a table for the rows that are written to it: CHECK constraints, generated columns, and the defaults that
both see.

Each way to write gets them here: INSERT and DataFrames (Spark evaluates the checks), row-level statements, COPY INTO,
streams, and Python without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from hashlib import sha256

from paimon_core.dataclass import dataclass
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.constraints import Constraint, checks_of
from paimon_core.store.ddl.generated_columns import GeneratedColumn, check_zone, generated_of


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules for new rows.

    `checks` are the CHECK constraints to enforce, also of generated columns. `generated` are the generated columns: a
    write makes their values in place of NULL. `defaults` are the columns of the checks with a default: a NULL in such a
    column becomes the default when its row is stored, so the checks must see the default."""

    schema: TableSchema
    checks: tuple[Constraint, ...]
    generated: tuple[GeneratedColumn, ...]
    defaults: tuple[DataField, ...]

    @staticmethod
    def of(schema: TableSchema) -> RowRules:
        """Return the rules of a schema. Raises `UnsupportedFeatureError` for an option in a form that this version does
        not understand.
        """
        checks = checks_of(schema.options)
        named = {column for check in checks for column in check.columns}
        defaults = tuple(f for f in schema.fields if f.name in named and f.default is not None)
        return RowRules(schema, checks, generated_of(schema.options), defaults)

    @property
    def made(self) -> frozenset[str]:
        """The names of the generated columns: a row may lack them."""
        return frozenset(g.name for g in self.generated)

    @property
    def digest(self) -> str:
        """A text that differs for schemas with other checks."""
        text = "\n".join(f"{check.key} {check.value}" for check in self.checks)
        return sha256(text.encode()).hexdigest()

    def made_anew(self, assigned: Iterable[str]) -> tuple[str, ...]:
        """Return the generated columns that change with assigned columns, and are not assigned themselves. A column of
        the primary key is not among them: it keeps its value, and the check of the row fails if it would change.
        """
        given = frozenset(assigned)
        fixed = given | set(self.schema.primary_keys)
        return tuple(g.name for g in self.generated if g.name not in fixed and given & set(g.columns))

    def in_zone(self, zone: tzinfo | None, table: str) -> RowRules:
        """Return the rules for a write in a time zone. Raises `InvalidDataError` if a generated column belongs to
        another time zone.
        """
        check_zone(self.generated, zone, table)
        return self
