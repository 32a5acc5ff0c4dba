"""Functions over ARRAY and MAP: `collect`, `merge_map`, `merge_map_with_keytime`, `nested_update`,
`nested_partial_update`.

They refer to elements by number and to keys by code (`elements.py`). Their loops run only over groups with several
rows, and over the elements of such groups. Nested rows of a key have the order of their keys in Java's HashMap, as in
every version of Paimon's Java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from paimon_core.arrow.binary_rows import hash_rows
from paimon_core.arrow.columns import validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.functions.elements import (
    Elements,
    Merge,
    Span,
    element_codes,
    merge_elements,
    merge_groups,
    struct_column,
)
from paimon_core.lsm.functions.steps import ADD_OLDER, RETRACT, SET, Steps
from paimon_core.lsm.keys import flatten, fold, key_words, widths
from paimon_core.spec.types import NESTED_KINDS, DataType

Group = Iterator[tuple[int, Elements | None]]
_FIRST_CAPACITY = 16  # of Java's HashMap, which doubles it if more than three quarters are in use
MERGE_NULL_KEYS, _, REFUSE_NULL_KEYS = NULL_STRATEGIES = ("merge", "ignore", "error")


@dataclass(frozen=True, slots=True)
class Collect:
    """Returns all elements of the arrays, or with `distinct` each element once."""

    distinct: bool

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        return merge_elements(column, steps, self._merge_of, self.distinct)

    def _merge_of(self, span: Span) -> Merge:
        codes = element_codes(span.values).tolist()

        def merge(group: Group) -> Elements | None:
            result: Elements | None = None
            for op, given in group:
                if op == SET or (result is None and op != RETRACT):
                    result = given
                elif given and result is not None:
                    result = _without(result, given, codes) if op == RETRACT else result + given
                if self.distinct and op not in (SET, RETRACT) and result is not None:
                    result = list({codes[e]: e for e in reversed(result)}.values())[::-1]
            return result

        return merge


@dataclass(frozen=True, slots=True)
class MergeMap:
    """Returns the entries of the maps: for each key the newest entry."""

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        return merge_elements(column, steps, self._merge_of, False)

    def _merge_of(self, span: Span) -> Merge:
        codes = element_codes(span.keys).tolist()

        def merge(group: Group) -> Elements | None:
            result: dict[int, int] | None = None
            for op, given in group:
                entries = None if given is None else {codes[e]: e for e in given}
                if op == SET or (result is None and op != RETRACT):
                    result = entries
                elif entries is not None and result is not None:
                    if op == RETRACT:
                        result = {c: e for c, e in result.items() if c not in entries}
                    else:
                        result = entries | result if op == ADD_OLDER else result | entries
            return None if result is None else list(result.values())

        return merge


@dataclass(frozen=True, slots=True)
class MergeMapWithKeyTime:
    """Returns the entries of the maps: for each key the entry with the latest time, which is a text in the value. A
    NULL value removes the key."""

    time_field: int

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        return merge_elements(column, steps, self._merge_of, False)

    def _merge_of(self, span: Span) -> Merge:
        codes, valid = element_codes(span.keys).tolist(), validity(span.values).tolist()
        times = span.values.field(self.time_field).to_pylist()

        def newer(entries: dict[int, int], given: Elements) -> dict[int, int]:
            result = dict(entries)
            for entry in given:
                code, time = codes[entry], times[entry]
                old = result.get(code)
                if not valid[entry]:
                    result.pop(code, None)
                elif time is not None and (old is None or not valid[old] or times[old] is None or time > times[old]):
                    result[code] = entry
            return result

        def merge(group: Group) -> Elements | None:
            result: dict[int, int] | None = None
            for op, given in group:
                entries = None if given is None else {codes[e]: e for e in given}
                if op == SET or result is None:
                    result = entries
                elif entries is not None:
                    older, later = (entries, result) if op == ADD_OLDER else (result, entries)
                    result = newer(older, list(later.values()))
            return None if result is None else list(result.values())

        return merge


@dataclass(frozen=True, slots=True)
class NestedKey:
    """The `nested-key`: the indexes of its fields, and how rows with NULL in one of them are treated."""

    fields: tuple[int, ...]
    types: tuple[DataType, ...]
    null_strategy: str = MERGE_NULL_KEYS

    def hashes(self, rows: pa.Array) -> list[int]:
        """Return the hash codes of the keys as Java's HashMap spreads them; shape (rows,)."""
        if not len(rows) or any(t.kind in NESTED_KINDS for t in self.types):
            return [0] * len(rows)  # nested keys keep their order
        hashes = hash_rows([rows.field(i) for i in self.fields], self.types).view(np.uint32)
        spread: list[int] = (hashes ^ (hashes >> np.uint32(16))).tolist()
        return spread

    def codes(self, rows: pa.Array) -> list[int | None]:
        """Return a number per row, equal for equal keys; None for rows to ignore."""
        keys = [rows.field(i) for i in self.fields]
        codes: list[int | None] = list(fold([element_codes(k) for k in keys]).tolist()) if len(rows) else []
        present = validity(rows)
        if self.null_strategy != MERGE_NULL_KEYS:
            whole = np.logical_and.reduce([validity(k) for k in keys])
            if self.null_strategy == REFUSE_NULL_KEYS and (present & ~whole).any():
                raise MergeRefusedError("a field of 'nested-key' is NULL, which 'nested-key-null-strategy' refuses")
            present = present & whole
        return [code if known else None for code, known in zip(codes, present.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class NestedUpdate:
    """Returns the rows of nested tables: all rows, or for each nested key the newest row. A table with `limit` rows
    takes no more.
    """

    key: NestedKey | None
    sequence_fields: tuple[int, ...]
    limit: int

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        return merge_elements(column, steps, self._merge_of, False)

    def _merge_of(self, span: Span) -> Merge:
        table = self._keyed(span.values, self.key) if self.key else self._plain(span.values)

        def merge(group: Group) -> Elements | None:
            result: Elements | None = None
            for op, given in group:
                if op == SET:
                    result = given
                elif op == RETRACT:
                    result = result if result is None or given is None else table.without(result, given)
                else:
                    old, new = (given, result) if op == ADD_OLDER else (result, given)
                    result = old if new is None else table.joined(old, new)
            return result

        return merge

    def _plain(self, rows: pa.Array) -> _PlainTable:
        return _PlainTable(element_codes(rows).tolist(), validity(rows).tolist(), self.limit)

    def _keyed(self, rows: pa.Array, key: NestedKey) -> _KeyedTable:
        order = [0] * len(rows)
        if self.sequence_fields and len(rows):
            sequence = key_words([rows.field(i) for i in self.sequence_fields])
            order = fold(flatten(sequence, widths([sequence]))).tolist()
        return _KeyedTable(key.codes(rows), key.hashes(rows), order, self.limit)


@dataclass(frozen=True, slots=True)
class NestedPartialUpdate:
    """Returns the rows of nested tables, one per nested key; fields that are not NULL overwrite."""

    key: NestedKey

    def __call__(self, column: pa.Array, steps: Steps) -> pa.Array:
        return merge_groups(column, steps, False, self._merged)

    def _merged(self, span: Span, groups: Iterator[Group]) -> pa.Array:
        rows = span.values
        fields = range(rows.type.num_fields)
        known = np.stack([validity(rows.field(i)) for i in fields], axis=1).tolist() if len(rows) else []
        coded, hashes = self.key.codes(rows), self.key.hashes(rows)
        hash_of = {code: value for code, value in zip(coded, hashes, strict=True) if code is not None}
        return struct_column(span, [self._tables(group, coded, hash_of, known) for group in groups])

    @staticmethod
    def _tables(
        group: Group, codes: Sequence[int | None], hash_of: Mapping[int, int], known: Sequence[Sequence[bool]]
    ) -> list[list[int]] | None:
        """Return the remaining rows: for each field the number of the element that has its value. Return None if the
        merged table is NULL.
        """
        result: dict[int, list[int]] | None = None
        for op, given in group:
            coded = [(codes[e], [e if k else -1 for k in known[e]]) for e in given or ()]
            rows = [(code, row) for code, row in coded if code is not None]
            if given is None:
                result = None if op == SET else result
                continue
            old = [] if op == SET or result is None else list(result.items())
            result, most = {}, 0
            for code, row in rows + old if op == ADD_OLDER else old + rows:
                most = len(result)  # Java's `computeIfAbsent` grows the map before it adds a key, not after
                before = result.setdefault(code, row)
                result[code] = [new if new >= 0 else b for new, b in zip(row, before, strict=True)]
            # and it puts a key before the keys with the same bits
            result = {code: result[code] for code in _in_hash_order(list(result)[::-1], hash_of, most)}
        return None if result is None else list(result.values())


@dataclass(frozen=True, slots=True)
class _PlainTable:
    """Nested rows without a key. Equal rows have equal `codes`."""

    codes: Sequence[int]
    valid: Sequence[bool]
    limit: int

    def joined(self, old: Elements | None, new: Elements) -> Elements:
        if old is not None and len(old) >= self.limit:
            return old
        kept = [e for e in old or () if self.valid[e]]
        return kept + [e for e in new if self.valid[e]][: self.limit - len(old or ())]

    def without(self, rows: Elements, removed: Elements) -> Elements:
        codes = {self.codes[e] for e in removed if self.valid[e]}
        return [e for e in rows if self.valid[e] and self.codes[e] not in codes]


@dataclass(frozen=True, slots=True)
class _KeyedTable:
    """Nested rows by key. `codes` has None for rows to ignore, `hashes` are from `NestedKey.hashes`. Of two rows of a
    key, the row with the larger `order` is newer."""

    codes: Sequence[int | None]
    hashes: Sequence[int]
    order: Sequence[int]
    limit: int

    def joined(self, old: Elements | None, new: Elements) -> Elements:
        found: dict[int, int] = {}
        for rows, limit in ((old or (), None), (new, self.limit)):
            for row in rows:
                code = self.codes[row]
                if code is None:
                    continue
                before = found.get(code)
                fits = limit is None or len(found) < limit
                if fits if before is None else self.order[row] >= self.order[before]:
                    found[code] = row
        return _in_hash_order(list(found.values()), self.hashes, len(found))

    def without(self, rows: Elements, removed: Elements) -> Elements:
        codes, found = {self.codes[e] for e in removed}, {self.codes[e]: e for e in rows}
        kept = [e for code, e in found.items() if code is not None and code not in codes]
        return _in_hash_order(kept, self.hashes, len(found))


def _in_hash_order(elements: Elements, hashes: Sequence[int] | Mapping[int, int], most: int) -> Elements:
    """Return the elements in the order of a HashMap that had `most` keys: by the low bits of their hashes."""
    capacity = _FIRST_CAPACITY
    while most * 4 > capacity * 3:
        capacity *= 2
    return sorted(elements, key=lambda e: hashes[e] & (capacity - 1))


def _without(rows: Elements, removed: Elements, codes: Sequence[int]) -> Elements:
    """Return the rows without the removed rows; each removal removes one row of its code."""
    count, result = Counter(codes[e] for e in removed), []
    for row in rows:
        if count[codes[row]] > 0:
            count[codes[row]] -= 1
        else:
            result.append(row)
    return result
