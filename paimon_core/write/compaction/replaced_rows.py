"""Merge-on-write: the rows of older files that rows of newer files replace. Keys in, row positions out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values
from paimon_core.arrow.types import ROW_INDEX
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.lsm.lookup import rows_with_keys
from paimon_core.lsm.runs import SortedRun
from paimon_core.store.data.bucket_files import BucketFiles

_FILE = "__paimon_file"


@dataclass(slots=True)
class ReplacedRows:
    """Positions of rows in the files of a bucket; 8 bytes for each."""

    _found: defaultdict[str, list[Positions]] = field(default_factory=lambda: defaultdict(list))

    def note(self, keys: BucketFiles, newer: Sequence[SortedRun], older: Sequence[SortedRun]) -> None:
        """Record the rows of older runs with keys that newer runs have; `keys` reads the key columns of both.

        Calls must come in key order of the runs. Raises as `BucketFiles.read`.
        """
        names = tuple(f.name for f in keys.fields)
        streams = [_numbered(keys, run) for run in older]
        for run, rows in rows_with_keys(streams, [keys.read(r.files) for r in newer], names):
            files = fixed_values(rows.column(_FILE), np.int32)
            positions = fixed_values(rows.column(ROW_INDEX), np.int64)
            for number in np.unique(files).tolist():
                self._found[older[run].files[number].file_name].append(positions[files == number])

    def by_file(self) -> dict[str, Positions]:
        """The ascending positions per data file."""
        return {name: np.concatenate(parts) for name, parts in self._found.items()}


def _numbered(keys: BucketFiles, run: SortedRun) -> Iterator[pa.RecordBatch]:
    """The rows of a run with the number of their file and their position in it."""
    for number, file in enumerate(run.files):
        for batch in keys.read_numbered(file):
            yield batch.append_column(_FILE, pa.array(np.full(batch.num_rows, number, dtype=np.int32)))
