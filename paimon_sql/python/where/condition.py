"""A condition on the rows of a table: the columns that it needs, the files that it prunes, and the rows of a batch that
satisfy it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import Predicate
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.types import DataField
from paimon_sql.python.where.bound import COLUMN, Bound, conjuncts_of, nodes
from paimon_sql.python.where.evaluation import evaluate
from paimon_sql.python.where.pushdown import pushed_predicate
from paimon_sql.python.where.simple import bind_simple

if TYPE_CHECKING:
    from paimon_sql.python.expressions import bind_expression
    from paimon_sql.python.where.binding import bind, bind_value
else:
    bind_expression = ImportedOnCall("paimon_sql.python.expressions", "bind_expression")
    bind = ImportedOnCall("paimon_sql.python.where.binding", "bind")  # sqlglot takes long to import
    bind_value = ImportedOnCall("paimon_sql.python.where.binding", "bind_value")

Where: TypeAlias = "str | pc.Expression"  # SQL, or an expression of pyarrow.compute


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition with its text; `zone` is the zone of wall clocks."""

    text: str
    root: Bound
    zone: tzinfo | None

    @staticmethod
    def of(where: Where, fields: Sequence[DataField], zone: tzinfo | None) -> Condition:
        """Return a condition on columns: SQL, or an expression of `pyarrow.compute`.

        Raises the errors of `bind` or `bind_expression`; `InvalidOptionError` for an object of another class."""
        if not isinstance(where, str):
            return Condition(str(where), bind_expression(where, fields), zone)
        text, found = where, bind_simple(where, fields, zone)
        return Condition(text, bind(text, fields, zone) if found is None else found, zone)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that the condition uses."""
        return frozenset(n.value for n in nodes(self.root) if n.name == COLUMN)

    def pushed(self, fields: Mapping[str, DataField]) -> list[tuple[Bound, Predicate | None]]:
        """Return the conjuncts. Each comes with its predicate for pruning files, or None if it prunes nothing."""
        return [(part, pushed_predicate(part, fields)) for part in conjuncts_of(self.root)]

    def filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that satisfy the condition; NULL does not. Raises `InvalidDataError`."""
        return pc.kept(batch, self.evaluated(batch))

    def evaluated(self, batch: pa.RecordBatch) -> pa.Array:
        """Return whether each row of a batch satisfies the condition, or NULL. Raises `InvalidDataError`."""
        return evaluate(self.root, batch, self.zone)


@dataclass(frozen=True, slots=True)
class Computed:
    """The new value of a column in an update: an expression, or a constant."""

    column: str
    root: Bound | None = None
    zone: tzinfo | None = None
    scalar: pa.Scalar | None = None

    @staticmethod
    def of(column: str, text: str, fields: Sequence[DataField], zone: tzinfo | None) -> Computed:
        """Parse an expression on columns. Raises the errors of `bind`."""
        return Computed(column, bind_value(text, fields, zone), zone)

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns that the expression uses."""
        return frozenset() if self.root is None else frozenset(n.value for n in nodes(self.root) if n.name == COLUMN)

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the value for each row of a batch. Raises `InvalidDataError`."""
        if self.root is None:
            return pa.repeat(self.scalar, batch.num_rows)
        if self.root.is_null:
            return pa.nulls(batch.num_rows)
        return evaluate(self.root, batch, self.zone)
