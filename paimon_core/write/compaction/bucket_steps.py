"""The steps of compacting one bucket: files are rewritten or upgraded, and the changelog of the changes is made.

`lsm/compaction.py` picks a unit of files and plans its steps. A step either rewrites sections (runs with overlapping
key ranges) as one new file of the output level, or upgrades a file, which gets the level without being read.

Two kinds of tables need more than the merge of the unit. There, a file is *news* if readers or the changelog have not
seen its rows yet:

- `changelog-producer` = `lookup` or `full-compaction`: the changelog is the difference of each key's row before and
  after. Both are merges of the same rows (`lsm/changelog.py`), so rows of news are merged once for both. For `lookup`,
  the older rows of a key are in runs below the unit. Only files with key ranges that overlap are read.
- deletion vectors: readers merge nothing, so only the newest row of a key may be unmarked. The positions of older rows
  of the keys of news are collected (`ReplacedRows`), and the message marks them.

A file of news may be upgraded if each of its rows is already the whole row of its key: nothing older is below it, or
the merge engine replaces rows rather than combining them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values
from paimon_core.arrow.types import KEY_PREFIX, ROW_INDEX
from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import And, Compare, Predicate
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.io.local import LocalFileIO
from paimon_core.io.local_copies import LocalCopies
from paimon_core.lsm.changelog import ChangelogRun, merge_with_changelog
from paimon_core.lsm.compaction import CompactUnit, LevelRun, Rewrite, Upgrade, level_runs
from paimon_core.lsm.lookup import rows_with_keys
from paimon_core.lsm.runs import SortedRun, in_key_order, key_range
from paimon_core.lsm.strategy import holds_whole_rows, is_published, looks_up, makes_changelog, newest_wins
from paimon_core.options import (
    CHAIN_TABLE,
    DELETION_VECTORS,
    LOOKUP_CACHE_DISK_SIZE,
    LOOKUP_CACHE_RETENTION,
    MERGE_ENGINE,
)
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.kinds import INTEGERS
from paimon_core.spec.manifest import DataFileMeta, FileSource
from paimon_core.spec.types import Kind
from paimon_core.store.data.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.indexes.level_indexes import level_indexes
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.changelog_files import changelog_store, compared_columns
from paimon_core.write.files.data_files import DataFileWriter, FileRole

# For these types, values have the same order as keys, so a range of values prunes files by their keys.
_ORDERED = INTEGERS | {Kind.DATE, Kind.VARCHAR}


@dataclass(slots=True)
class ReplacedRows:
    """The positions of rows that newer rows replace, in the files of a bucket. A position takes 8 bytes."""

    _found: defaultdict[str, list[Positions]] = field(default_factory=lambda: defaultdict(list))

    def note(self, keys: BucketFiles, newer: Sequence[SortedRun], older: Sequence[SortedRun]) -> None:
        """Record the rows of older runs with keys that newer runs have.

        `keys` reads the key columns of both. Successive calls must come in key order of the runs. Raises as
        `BucketFiles.read`.
        """
        names = tuple(f.name for f in keys.fields)
        streams = [_numbered(keys, run) for run in older]
        for run, rows in rows_with_keys(streams, [keys.read(r.files) for r in newer], names):
            files = fixed_values(rows.column(_FILE), np.int32)
            positions = fixed_values(rows.column(ROW_INDEX), np.int64)
            for number in np.unique(files).tolist():
                self._found[older[run].files[number].file_name].append(positions[files == number])

    def by_file(self) -> dict[str, Positions]:
        """Return the positions by data file, in ascending order."""
        return {name: np.concatenate(parts) for name, parts in self._found.items()}


def _numbered(keys: BucketFiles, run: SortedRun) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a run, with the number of their file and their position in it."""
    for number, file in enumerate(run.files):
        for batch in keys.read_numbered(file):
            yield batch.append_column(_FILE, pa.array(np.full(batch.num_rows, number, dtype=np.int32)))


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The replaced files, the new files, the changelog files, and the replaced rows of other files."""

    before: list[DataFileMeta] = field(default_factory=list)
    after: list[DataFileMeta] = field(default_factory=list)
    changelog: list[DataFileMeta] = field(default_factory=list)
    replaced: ReplacedRows = field(default_factory=ReplacedRows)


class BucketCompaction:
    """Runs the steps of one unit of a bucket's files.

    `older` are runs outside the unit. The compaction looks up older rows of level-0 keys in them. In tables with
    deletion vectors, it marks these rows."""

    def __init__(self, files: BucketFiles, unit: CompactUnit, older: Sequence[LevelRun]):
        self._store, self._files, self._unit, self._older = files.store, files, unit, older
        store, self._key_types = files.store, [f.type for f in files.store.schema.key_fields]
        self._marks = store.options[DELETION_VECTORS]
        # in a chain table, a delete also deletes rows of older partitions
        drop_delete = (unit.drop_delete or self._marks) and not store.options[CHAIN_TABLE]
        self._spec = merge_spec(store, drop_delete=drop_delete)
        self._makes_changelog, self._compared = makes_changelog(store.options, unit), compared_columns(store)
        self._looks_up = looks_up(store.options, unit)
        self._indexed = bool(level_indexes(store))
        self._writers: list[DataFileWriter] = []
        role = FileRole(level=unit.output_level)
        self._changes = (
            DataFileWriter(changelog_store(store), files.bucket_dir, role) if self._makes_changelog else None
        )
        self.result = CompactResult()

    def run(self, step: Rewrite | Upgrade) -> None:
        """Run one step. Steps must come in key order."""
        if isinstance(step, Upgrade) and self._indexed and step.file.file_source != FileSource.COMPACT:
            step = Rewrite(((SortedRun((step.file,)),),))  # indexes of a level cover only compacted files
        if isinstance(step, Rewrite):
            self._rewrite(step)
        elif not self._is_news(step.file):
            self._upgrade(step.file)
        elif self._may_upgrade(step.file):
            if self._makes_changelog:
                self._merge([SortedRun((step.file,))], None)
            self._mark([step.file])
            self._upgrade(step.file)
        else:
            self._rewrite(Rewrite(((SortedRun((step.file,)),),)))

    def finish(self) -> None:
        """End all files."""
        if self._changes is not None:
            self._changes.roll()
            self.result.changelog.extend(self._changes.finished)

    def abort(self) -> None:
        """Delete everything written, as far as possible."""
        for writer in (*self._writers, *([self._changes] if self._changes else [])):
            writer.abort()

    def _is_news(self, file: DataFileMeta) -> bool:
        """Return whether older rows of a file's keys must be looked up, or its changes published."""
        unpublished = self._makes_changelog and not is_published(self._store.options, file.level, self._unit.max_level)
        return unpublished or (self._looks_up and file.level == 0)

    def _may_upgrade(self, file: DataFileMeta) -> bool:
        """Return whether a file may be upgraded, because each of its rows is the whole row of its key: readers of a
        level take the first row of a key that they find.
        """
        if self._marks and file.delete_row_count != 0:
            return False
        if self._unit.output_level == self._unit.max_level or not self._near([file]):
            return True
        return newest_wins(self._store.options)

    def _upgrade(self, file: DataFileMeta) -> None:
        self.result.before.append(file)
        self.result.after.append(replace(file, level=self._unit.output_level))

    def _rewrite(self, step: Rewrite) -> None:
        role = FileRole(level=self._unit.output_level, source=FileSource.COMPACT, stored=True)
        writer = DataFileWriter(self._store, self._files.bucket_dir, role)
        self._writers.append(writer)
        for section in step.sections:
            files = [f for run in section for f in run.files]
            news = [f for f in files if self._is_news(f)]
            if news and (self._makes_changelog or (self._near(news) and not newest_wins(self._store.options))):
                self._merge(section, writer)
            else:
                for batch in merge_section(self._files, section, self._spec):
                    writer.write(batch)
            self._mark(news)
        writer.roll()
        self.result.before.extend(step.files)
        self.result.after.extend(writer.finished)

    def _mark(self, news: Sequence[DataFileMeta]) -> None:
        """Record the older rows that the rows of these files replace."""
        older = self._near(news) if self._marks else []
        if older:
            fields = self._files.fields[: len(self._key_types)]
            keys = replace(self._files, fields=fields, predicate=self._within(news))
            self.result.replaced.note(keys, [SortedRun(r.files) for r in level_runs(news)], older)

    def _merge(self, section: Sequence[SortedRun], writer: DataFileWriter | None) -> None:
        """Merge a section and write its changelog.

        The merged rows go to `writer`; without a writer, they stay in their files.
        """
        files = [f for run in section for f in run.files]
        reader = replace(self._files, predicate=self._within(files), copies=_copies(self._store))
        whole = holds_whole_rows(self._store.options)
        older = reversed(self._near(files))
        runs = [ChangelogRun(reader.read(r.files), published=True, merged=False, whole=whole) for r in older]
        for run in reversed(level_runs(files)):
            published = not self._makes_changelog or is_published(self._store.options, run.level, self._unit.max_level)
            rows = self._files.read(in_key_order(run.files, self._key_types))
            runs.append(ChangelogRun(rows, published=published, whole=whole and run.level > 0))
        first_stays = self._store.options[MERGE_ENGINE] == "first-row"
        for merged in merge_with_changelog(runs, self._spec, self._compared, first_stays=first_stays):
            if writer is not None and merged.rows.num_rows:
                writer.write(merged.rows)
            if self._changes is not None and merged.changes.num_rows:
                self._changes.write(merged.changes)

    def _near(self, files: Sequence[DataFileMeta]) -> list[SortedRun]:
        """Return older runs, newest first, with only the files that may have keys of these files."""
        if not files:
            return []
        ranges = [key_range(f, self._key_types) for f in files]
        low, high = min(r.low for r in ranges), max(r.high for r in ranges)
        found = []
        for run in self._older:
            near = [f for f in run.files if (r := key_range(f, self._key_types)).low <= high and r.high >= low]
            if near:
                found.append(SortedRun(tuple(in_key_order(near, self._key_types))))
        return found

    def _within(self, files: Sequence[DataFileMeta]) -> Predicate | None:
        """Return a filter for the range of the first key column in these files, or None. It prunes older files."""
        first = self._store.schema.key_fields[0]
        if first.type.kind not in _ORDERED:
            return None
        firsts = [decode_row(self._key_types, key)[0] for f in files for key in (f.min_key, f.max_key)]
        name = KEY_PREFIX + first.name
        return And((Compare(name, ">=", min(firsts)), Compare(name, "<=", max(firsts))))


def _copies(store: TableStore) -> LocalCopies | None:
    """Return local copies of files in which many statements look up rows.

    Return None if the table is on a local disk.
    """
    if isinstance(store.io, LocalFileIO):
        return None
    return LocalCopies(store.io, store.options[LOOKUP_CACHE_DISK_SIZE], store.options[LOOKUP_CACHE_RETENTION])


_FILE = "__paimon_file"
