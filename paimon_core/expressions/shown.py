"""The part of a table that a catalog shows to its user: some of the rows, and masked columns.

Frozen values, evaluated over Arrow batches. A row is shown only if the condition is true, not NULL. Masks are computed
from the stored row. Readers of such a table must not use hidden stored values for any decision, such as pruning.
Source: `TableQueryAuthResult`, `LeafFunction` and `Transform` of Paimon.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.dataclass import dataclass
from paimon_core.errors import InternalError, InvalidDataError, UnsupportedFeatureError
from paimon_core.spec.types import DataField


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """The stored value of a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A text, or NULL if it is `None`."""

    value: str | None


@dataclass(frozen=True, slots=True)
class Joined:
    """Joined texts. The result is NULL if one text is NULL; but with a separator, NULLs are left out."""

    parts: tuple[Term, ...]
    separator: str | None = None


@dataclass(frozen=True, slots=True)
class Cased:
    """A text in upper or lower case."""

    part: Term
    is_upper: bool


Term = ShownColumn | Constant | Joined | Cased


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a value against literals, by one of `FUNCTIONS`."""

    function: str
    term: Term
    literals: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Every:
    """The AND of the children."""

    children: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """The OR of the children."""

    children: tuple[Condition, ...]


Condition = Test | Every | Some


@dataclass(frozen=True, slots=True)
class Shown:
    """The shown rows, which satisfy a condition, and the masks of columns, which replace the stored values.

    `masks` have, per column, the mask and whether the column may be NULL."""

    condition: Condition | None = None
    masks: tuple[tuple[str, Term, bool], ...] = ()

    @property
    def masked(self) -> frozenset[str]:
        return frozenset(name for name, _, _ in self.masks)

    def stored(self, wanted: Sequence[str]) -> list[str]:
        """Return the columns to read for the wanted columns, including the columns that the condition and the masks
        use.
        """
        looked_at = set() if self.condition is None else set(_columns(self.condition))
        looked_at.update(*(_columns(term) for name, term, _ in self.masks if name in wanted))
        return [*wanted, *sorted(looked_at - set(wanted))]

    def of(self, batch: pa.RecordBatch, wanted: Sequence[str]) -> pa.RecordBatch:
        """Return the shown rows and wanted columns of a batch with the columns `stored`. Raises `InvalidDataError`."""
        if self.condition is not None:
            batch = batch.filter(_holds(self.condition, batch))
        masks = {name: (term, nullable) for name, term, nullable in self.masks}
        arrays = [
            _masked(batch, name, *masks[name]) if name in masks else batch.column(batch.schema.get_field_index(name))
            for name in wanted
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(wanted))

    def check_version(self, table: str, now: Iterable[DataField], then: Iterable[DataField]) -> None:
        """Raise `UnsupportedFeatureError` for a version with other columns: the catalog's permissions do not cover
        them."""
        known, held = {f.id: f for f in now}, {f.name: f for f in then}
        looked_at = set(self.stored(tuple(self.masked)))
        for field in held.values():
            same = known.get(field.id)
            if same is None or same.name != field.name or (field.name in looked_at and same.type != field.type):
                raise UnsupportedFeatureError(
                    f"Table {table} cannot be read at this version: the catalog's permissions cover current columns "
                    f"only, and {field.name!r} no longer exists or has changed. Read a later version."
                )
        if missing := sorted(looked_at - self.masked - held.keys()):
            raise UnsupportedFeatureError(
                f"Table {table} cannot be read at this version: the catalog's permissions depend on column "
                f"{missing[0]!r}, which did not exist yet. Read a later version."
            )


def _columns(node: Condition | Term) -> Iterable[str]:
    """Yield the columns that a condition or term uses."""
    match node:
        case ShownColumn(name):
            yield name
        case Test(term=part) | Cased(part=part):
            yield from _columns(part)
        case Every(parts) | Some(parts) | Joined(parts=parts):
            for each in parts:
                yield from _columns(each)


def _masked(batch: pa.RecordBatch, name: str, term: Term, nullable: bool) -> pa.Array:
    kind = batch.schema.field(name).type
    made = pa.nulls(batch.num_rows, kind) if term == Constant(None) else _values(term, batch).cast(kind)
    if len(made) != batch.num_rows:
        raise InternalError(f"a mask of column {name!r} returned {len(made)} values for {batch.num_rows} rows")
    if made.null_count and not nullable:
        raise InvalidDataError(
            f"Column {name!r} is NOT NULL, but the catalog's mask for it returns NULL. Ask the catalog's administrator "
            "for another mask, or for a nullable column."
        )
    return made


def _values(term: Term, batch: pa.RecordBatch) -> pa.Array:
    """Return the value of each row."""
    match term:
        case ShownColumn(name):
            return batch.column(batch.schema.get_field_index(name))
        case Constant(value):
            return pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
        case Cased(part, is_upper):
            return (pc.utf8_upper if is_upper else pc.utf8_lower)(_values(part, batch))
        case Joined(parts, None):
            return pc.binary_join_element_wise(*(_values(p, batch) for p in parts), "", null_handling="emit_null")
        case Joined(parts, separator):
            # Start with an empty text, because Arrow leaves out rows with only NULLs.
            texts = (pa.repeat("", batch.num_rows), *(_values(p, batch) for p in parts))
            joined = pc.binary_join_element_wise(*texts, separator, null_handling="skip")
            return pc.utf8_slice_codeunits(joined, len(separator or ""))
    raise InternalError(f"unknown term: {term}")


def _holds(condition: Condition, batch: pa.RecordBatch) -> pa.Array:
    """Return whether a condition is satisfied, for each row: true or false, never NULL."""
    match condition:
        case Every(children):
            return functools.reduce(pc.and_, (_holds(c, batch) for c in children))
        case Some(children):
            return functools.reduce(pc.or_, (_holds(c, batch) for c in children))
        case Test("TRUE"):
            return pa.repeat(True, batch.num_rows)
        case Test("FALSE"):
            return pa.repeat(False, batch.num_rows)
        case Test(function, term, literals):
            found = FUNCTIONS[function](_judged(term, batch), literals)
            return pc.fill_null(found, False)
    raise InternalError(f"unknown condition: {condition}")


def _judged(term: Term, batch: pa.RecordBatch) -> pa.Array:
    """Return the values that a condition tests.

    Raises an error if Arrow's upper and lower case may differ from Java's.
    """
    values = _values(term, batch)
    if isinstance(term, Cased) and pc.any(pc.invert(pc.string_is_ascii(_values(term.part, batch)))).as_py():
        raise UnsupportedFeatureError(
            "The catalog's row filter converts texts to upper or lower case, and some texts are not ASCII. Java may "
            "convert these otherwise, so it is unknown which rows the user may see. Read the table with Paimon's "
            "Java connector."
        )
    return values


def _compared(compare: Callable[[Any, Any], Any], *, above: bool = False) -> Callable[[pa.Array, tuple[Any, ...]], Any]:
    """Return a comparison with a literal. `above`: NaN, which is larger than all numbers, satisfies it."""

    def test(values: pa.Array, literals: tuple[Any, ...]) -> Any:
        found = compare(values, pa.scalar(literals[0], values.type))
        return pc.or_kleene(found, pc.is_nan(values)) if above and pa.types.is_floating(values.type) else found

    return test


_at_least, _above = _compared(pc.greater_equal, above=True), _compared(pc.greater, above=True)
_at_most, _below = _compared(pc.less_equal), _compared(pc.less)


def _is_in(values: pa.Array, literals: tuple[Any, ...]) -> Any:
    known = pa.array([v for v in literals if v is not None], values.type)
    return pc.and_(pc.is_valid(values), pc.is_in(values, value_set=known))


def _is_not_in(values: pa.Array, literals: tuple[Any, ...]) -> Any:
    if None in literals:
        return pa.repeat(False, len(values))
    return pc.and_(pc.is_valid(values), pc.invert(_is_in(values, literals)))


def _is_between(values: pa.Array, literals: tuple[Any, ...]) -> Any:
    return pc.and_kleene(_at_least(values, literals[:1]), _at_most(values, literals[1:]))


def _is_not_between(values: pa.Array, literals: tuple[Any, ...]) -> Any:
    if None in literals:
        return pa.repeat(False, len(values))
    return pc.or_kleene(_below(values, literals[:1]), _above(values, literals[1:]))


def _of_text(match: Callable[..., Any]) -> Callable[[pa.Array, tuple[Any, ...]], Any]:
    def test(values: pa.Array, literals: tuple[Any, ...]) -> Any:
        return pa.repeat(False, len(values)) if literals[0] is None else match(values, literals[0])

    return test


FUNCTIONS: Mapping[str, Callable[[pa.Array, tuple[Any, ...]], Any]] = {
    "EQUAL": _compared(pc.equal),
    "NOT_EQUAL": _compared(pc.not_equal),
    "LESS_THAN": _below,
    "LESS_OR_EQUAL": _at_most,
    "GREATER_THAN": _above,
    "GREATER_OR_EQUAL": _at_least,
    "IS_NULL": lambda values, _: pc.is_null(values),
    "IS_NOT_NULL": lambda values, _: pc.is_valid(values),
    "IN": _is_in,
    "NOT_IN": _is_not_in,
    "BETWEEN": _is_between,
    "NOT_BETWEEN": _is_not_between,
    "STARTS_WITH": _of_text(pc.starts_with),
    "ENDS_WITH": _of_text(pc.ends_with),
    "CONTAINS": _of_text(pc.match_substring),
    "LIKE": _of_text(pc.match_like),
}
