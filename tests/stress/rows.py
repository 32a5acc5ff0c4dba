"""What commits write, and what a table holds after some of them: a model that needs no table.

A commit has a writer and a number. It writes `PARTS` rows of its own, over partitions and buckets, so that half a
commit would show; on some tables it also writes to a row that others write to, or deletes the rows of the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from paimon_core.arrow.types import VALUE_KIND
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT

PARTS, PARTITIONS = 4, 2
_NUMBERS = 1_000_000  # more commits than a writer makes


class Commit(NamedTuple):
    """The `number`-th commit of a writer."""

    writer: int
    number: int


Row = tuple[int, int, int]  # partition, key, value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of table: its options, and what its commits do besides adding rows."""

    options: Mapping[str, str]
    keyed: bool = True
    deletes: bool = False  # every fourth commit deletes the rows of the one before
    sums: bool = False  # values of a key are added up, so that a commit that came twice would show

    def written(self, commit: Commit) -> pa.RecordBatch:
        """The rows of a commit, partition by partition."""
        rows = [(*row, ROW_INSERT) for row in _own(commit)]
        if self.keyed:
            rows += [(*row, ROW_INSERT) for row in self._shared(commit)]
        if self._deletes_before(commit):
            rows += [(*row, ROW_DELETE) for row in _own(_before(commit))]
        columns = list(zip(*sorted(rows), strict=True))
        types = {"p": pa.int32(), "k": pa.int64(), "v": pa.int64()} | ({VALUE_KIND: pa.int8()} if self.keyed else {})
        arrays = [pa.array(values, t) for values, t in zip(columns, types.values(), strict=False)]
        return pa.record_batch(arrays, names=list(types))

    def after(self, commits: Iterable[Commit]) -> Counter[Row]:
        """What a table holds after these commits, whatever their order among writers."""
        done = set(commits)
        deleted = {_before(c) for c in done if self._deletes_before(c)}
        rows = Counter(row for c in done - deleted for row in _own(c))
        if self.keyed:
            rows.update(self._last(done))
        return rows

    def commits_in(self, rows: Iterable[Row]) -> frozenset[Commit]:
        """The commits that rows show; of one that was deleted, only the one that deleted it."""
        return frozenset(_of(key) for _, key, _ in rows if key >= 0)

    def hidden(self, commits: frozenset[Commit]) -> frozenset[Commit]:
        """The commits whose rows are deleted after `commits`."""
        return frozenset(_before(c) for c in commits if self._deletes_before(c))

    def _deletes_before(self, commit: Commit) -> bool:
        return self.deletes and commit.number % 4 == 3

    def _shared(self, commit: Commit) -> list[Row]:
        """Rows of keys that other commits write too: the writer's last number, or what all add up."""
        key, value = (-1, 1) if self.sums else (-1 - commit.writer, commit.number)
        return [(p, key, value) for p in range(PARTITIONS)]

    def _last(self, done: set[Commit]) -> dict[Row, int]:
        if self.sums:
            return {(p, -1, len(done)): 1 for p in range(PARTITIONS) if done}
        last: dict[int, Commit] = {c.writer: c for c in sorted(done)}
        return {row: 1 for commit in last.values() for row in self._shared(commit)}


def _own(commit: Commit) -> list[Row]:
    """The rows that only this commit writes."""
    first = (commit.writer * _NUMBERS + commit.number) * PARTS
    return [(part % PARTITIONS, first + part, commit.number) for part in range(PARTS)]


def _of(key: int) -> Commit:
    return Commit(*divmod(key // PARTS, _NUMBERS))


def _before(commit: Commit) -> Commit:
    return commit._replace(number=commit.number - 1)


KEYED = {"primary-key": "p,k", "partition": "p"}
KINDS = {
    "append": Kind(options={"partition": "p"}, keyed=False),
    "keyed": Kind(options=KEYED | {"bucket": "2"}, deletes=True),
    "dynamic": Kind(options=KEYED | {"bucket": "-1", "dynamic-bucket.target-row-num": "2000"}, deletes=True),
    "vectors": Kind(options=KEYED | {"bucket": "2", "deletion-vectors.enabled": "true"}, deletes=True),
    "sums": Kind(
        options=KEYED | {"bucket": "2", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, sums=True
    ),
}
