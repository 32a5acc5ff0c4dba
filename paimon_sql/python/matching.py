"""The pairs of rows that the condition of a MERGE joins: a hash join over whole columns, by batches of the target."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.spec.types import DataField, Kind, RowType
from paimon_sql.python.where.binding import bind
from paimon_sql.python.where.bound import CAST, COLUMN, Bound, condition_of, conjuncts_of, literal, nodes
from paimon_sql.python.where.evaluation import evaluate

TARGET, SOURCE = "target", "source"
_LISTED = 1_000  # distinct values that a scan gets as a list
_PRUNING = frozenset((Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.VARCHAR, Kind.DATE))


@dataclass(frozen=True, slots=True)
class Sides:
    """The columns of both sides of a MERGE. In expressions, each side is a ROW with the side's name."""

    target: tuple[DataField, ...]
    source: tuple[DataField, ...]
    zone: tzinfo | None

    def fields(self, *names: str) -> list[DataField]:
        """Return the sides that an expression may use, as columns."""
        known = {TARGET: self.target, SOURCE: self.source}
        return [DataField(id=i, name=n, type=RowType(fields=known[n])) for i, n in enumerate(names)]


@dataclass(frozen=True, slots=True)
class _Equal:
    """Values that must be equal in both rows; `takes_null`: NULL equals NULL."""

    target: Bound
    source: Bound
    takes_null: bool


@dataclass(frozen=True)
class Pairing:
    """The condition of a MERGE: values that must be equal, and the rest of it."""

    equal: tuple[_Equal, ...]
    rest: Bound | None
    zone: tzinfo | None

    @staticmethod
    def of(on: str | Sequence[str], sides: Sides) -> Pairing:
        """Parse the condition: columns that are equal in both sides, or SQL.

        Raises the errors of `bind`; `ColumnNotFoundError`, `UnsupportedFeatureError` for a condition without an
        equality.
        """
        root = bind(_text(on, sides), sides.fields(TARGET, SOURCE), sides.zone)
        parts = [(part, _equality(part)) for part in conjuncts_of(root)]
        equal = tuple(found for _, found in parts if found is not None)
        if not equal:
            raise UnsupportedFeatureError(
                f"merge cannot join rows by {on!r}: it needs an equality of a target column and a source column, as in "
                "'target.id = source.id'."
            )
        rest = [part for part, found in parts if found is None]
        return Pairing(equal, (condition_of("and", *rest) if len(rest) > 1 else rest[0]) if rest else None, sides.zone)

    def requires_equal(self, column: Bound, value: Bound) -> bool:
        """Return whether the condition makes this value of the source equal to the column of the target in all pairs.
        The condition may cast the value; the cast is ignored here, because storing the value casts it in the same way.
        """
        equal = (e for e in self.equal if e.target == column and not e.takes_null)
        return any(value in (e.source, _uncast(e.source)) for e in equal)

    def target_columns(self) -> frozenset[str]:
        """Return the columns of the target that the condition uses."""
        used = [*(e.target for e in self.equal), *([] if self.rest is None else [self.rest])]
        return frozenset(name for bound in used for name in columns_of(bound, TARGET))


def columns_of(bound: Bound, side: str) -> frozenset[str]:
    """Return the columns of a side that an expression uses."""
    fields = (n for n in nodes(bound) if n.name == "field" and n.parts[0].name == COLUMN)
    return frozenset(str(n.value) for n in fields if n.parts[0].value == side)


def as_rows(rows: pa.RecordBatch | pa.Table, fields: Sequence[DataField]) -> pa.StructArray:
    """Return rows as a column of ROWs, with the columns of `fields`."""
    names = [f.name for f in fields]
    return pa.StructArray.from_arrays([_whole(rows.column(name)) for name in names], names=names)


class Matches:
    """The source of a MERGE by the values that must be equal in both rows."""

    def __init__(self, source: pa.StructArray, pairing: Pairing) -> None:
        self.source, self._pairing = source, pairing
        batch = pa.record_batch({SOURCE: source})
        self._columns = [_comparable(evaluate(e.source, batch, pairing.zone)) for e in pairing.equal]
        self._distinct = [column.unique() for column in self._columns]
        self._known: list[NDArray[np.int64]] = []
        codes = self._codes(self._columns, learns=True)
        self._order = np.argsort(codes, kind="stable")
        self._sorted = codes[self._order]
        self.matched = np.zeros(len(source), dtype=np.bool_)

    def pairs(self, target: pa.StructArray) -> tuple[NDArray[np.int64], pa.RecordBatch]:
        """Return the pairs of a batch of the target's rows: for each pair, the place of the target's row and both rows.
        Mark the source's rows that have a pair in `matched`. Raises `InvalidDataError`.
        """
        pairing, batch = self._pairing, pa.record_batch({TARGET: target})
        columns = [_comparable(evaluate(e.target, batch, pairing.zone)) for e in pairing.equal]
        codes = self._codes(columns, learns=False)
        first, last = (np.searchsorted(self._sorted, codes, side) for side in ("left", "right"))
        counts = np.where(codes < 0, 0, last - first)
        places = np.repeat(np.arange(len(codes)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        found = self._order[np.repeat(first, counts) + within]
        both = _paired(target, places, self.source, found)
        if pairing.rest is not None:
            kept = pc.fill_null(evaluate(pairing.rest, both, pairing.zone), False)
            chosen = np.flatnonzero(kept.to_numpy(zero_copy_only=False))
            places, found, both = places[chosen], found[chosen], both.filter(kept)
        self.matched[found] = True
        return places, both

    def reachable(self) -> Bound | None:
        """Return a condition on target columns that every matching target row satisfies, or None if it is unknown."""
        parts = [p for p in map(_reached, self._pairing.equal, self._distinct) if p is not None]
        return condition_of("and", *parts) if len(parts) > 1 else parts[0] if parts else None

    def _codes(self, columns: Sequence[pa.Array], *, learns: bool) -> NDArray[np.int64]:
        """Return a number for each row. Rows have the same number if their values are equal in all columns. The number
        is -1 if the values do not occur in the source.
        """
        codes = np.zeros(len(columns[0]), dtype=np.int64)
        for i, (column, distinct, equal) in enumerate(zip(columns, self._distinct, self._pairing.equal, strict=True)):
            found = pc.index_in(column, value_set=distinct, skip_nulls=not equal.takes_null)
            own = pc.fill_null(found.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
            codes = np.where((codes < 0) | (own < 0), -1, codes * max(len(distinct), 1) + own)
            if learns:
                self._known.append(np.unique(codes[codes >= 0]))
            known = self._known[i]  # numbered anew, so that numbers of many columns do not overflow
            places = np.searchsorted(known, codes)
            is_known = (codes >= 0) & (places < len(known))
            is_known[is_known] = known[places[is_known]] == codes[is_known]
            codes = np.where(is_known, places, -1)
        return codes


def _paired(
    target: pa.StructArray, places: NDArray[np.int64], source: pa.StructArray, found: NDArray[np.int64]
) -> pa.RecordBatch:
    return pa.record_batch({TARGET: target.take(int64_array(places)), SOURCE: source.take(int64_array(found))})


def _text(on: str | Sequence[str], sides: Sides) -> str:
    known, given = {f.name for f in sides.target}, {f.name for f in sides.source}
    if isinstance(on, str) and on not in known:
        return on
    names = [on] if isinstance(on, str) else list(on)
    if not names:
        raise InvalidOptionError("merge requires on: names of columns, or a condition as 'target.id = source.id'.")
    for name in names:
        for side, columns in ((TARGET, known), (SOURCE, given)):
            if name not in columns:
                raise ColumnNotFoundError(
                    f"merge joins rows by {name!r}, and the {side} has no such column: it has {', '.join(columns)}."
                )
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    return " AND ".join(f"{TARGET}.{name} = {SOURCE}.{name}" for name in quoted)


def _equality(part: Bound) -> _Equal | None:
    if part.name not in ("=", "<=>"):
        return None
    sides = [{str(n.value) for n in nodes(p) if n.name == COLUMN} for p in part.parts]
    one, other = part.parts
    if sides == [{SOURCE}, {TARGET}]:
        one, other = other, one
    elif sides != [{TARGET}, {SOURCE}]:
        return None
    return _Equal(one, other, takes_null=part.name == "<=>")


def _reached(equal: _Equal, distinct: pa.Array) -> Bound | None:
    """Return the condition that the target's value occurs in the source, or that it is between the least and the
    largest value there.
    """
    node, kind = equal.target, equal.target.type.kind
    if equal.takes_null or kind not in _PRUNING or node.name != "field" or node.parts[0].name != COLUMN:
        return None
    column = Bound(COLUMN, node.type, value=node.value)
    values = (distinct.cast(pa.int32()) if kind is Kind.DATE else distinct).drop_null()
    if not len(values):
        return None
    if len(values) <= _LISTED:
        return condition_of("in", column, *(literal(v, node.type) for v in values.to_pylist()))
    ends = pc.min_max(values)
    least, largest = (literal(ends[name].as_py(), node.type) for name in ("min", "max"))
    return condition_of("and", condition_of(">=", column, least), condition_of("<=", column, largest))


def _uncast(bound: Bound) -> Bound:
    return bound.parts[0] if bound.name == CAST else bound


def _comparable(values: pa.Array) -> pa.Array:
    """Return the values with 0.0 for -0.0: they are equal in SQL, but not in Arrow's joins."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
