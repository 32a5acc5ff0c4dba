"""The BLOB columns of a bucket's rows in tables with a primary key: values go to packs, and rows keep descriptors. In
arrays and maps, each element or value that is not NULL has a descriptor.

    data-UUID-N.managed.blob     a pack: the values of one column, as a `.blob` file
    <data file>.blobref          the packs that the rows of a data file name; an extra file of the data file

Versions name `.blobref` files, but no packs: several data files may need one pack, as a compaction copies descriptors.
`CALL sys.remove_orphan_blobs` deletes packs. Source: `PrimaryKeyBlobExternalizer`, `ManagedBlobReferenceCollector`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.blob_parts import blob_parts, without_nulls
from paimon_core.arrow.columns import byte_lengths, fixed_values, validity
from paimon_core.arrow.types import VALUE_KIND
from paimon_core.lsm.rows import is_retract
from paimon_core.options import BLOB_TARGET_FILE_SIZE
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import DataField
from paimon_core.store.blob.references import PACK, REFERENCES, encode_references
from paimon_core.store.blob.values import DescribedBlobs, descriptors, files_named
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.blob_files import NewBlobFiles
from paimon_core.write.files.new_paths import NewPaths


class PackWriter:
    """The packs of one column. A pack ends at `blob.target-file-size`, or else at `target` bytes."""

    def __init__(self, store: TableStore, paths: NewPaths, target: int):
        self._target = store.options[BLOB_TARGET_FILE_SIZE] or target
        self._blobs = DescribedBlobs.of(store)
        self._files = NewBlobFiles(store, paths, PACK)

    def packed(self, values: pa.Array) -> pa.Array:
        """Write values, and return their descriptors. The values that given descriptors refer to are copied.

        Raises `InvalidDataError`, `StorageError`.
        """
        stored = values.drop_null()
        found = [part for some in self._blobs.pieces(stored) for part in self._write(self._blobs.resolved(some))]
        described = pa.concat_arrays(found) if found else pa.array([], pa.binary())
        return pc.replace_with_mask(pa.nulls(len(values), pa.binary()), pa.array(validity(values)), described)

    def close(self) -> None:
        """End the open pack. It is durable then."""
        self._files.close()

    def abort(self) -> None:
        """Delete all packs, as far as possible."""
        self._files.abort()

    def _write(self, values: pa.Array) -> Iterator[pa.Array]:
        """Write values that are not NULL. Yield their descriptors."""
        while len(values):
            file = self._files.open()
            count = file.room(values, self._target)
            part, values = values.slice(0, count), values.slice(count)
            yield descriptors(self._files.path, file.write(part), byte_lengths(part))
            if file.size >= self._target:
                self.close()


class PackedColumns:
    """The BLOB columns of the rows of a bucket. `stored`: the rows were in the table before, and have descriptors,
    which stay.
    """

    def __init__(self, store: TableStore, fields: Sequence[DataField], paths: NewPaths, target: int, *, stored: bool):
        self._store, self._names = store, [f.name for f in fields]
        self._packs = {} if stored else {n: PackWriter(store, paths, target) for n in self._names}
        self._named = set[str]()
        self._paths: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._names)

    def packed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Write the values of rows to packs, and return the rows with descriptors.

        Deleted rows get NULL, or an empty value in a column that cannot be NULL."""
        if not self._packs:
            return rows
        gone = is_retract(fixed_values(rows.column(VALUE_KIND), np.int8))
        deleted = gone if gone.any() else None
        for name, packs in self._packs.items():
            index = rows.schema.get_field_index(name)
            field = rows.schema.field(index)
            values = rows.column(index)
            if deleted is not None:
                values = values.take(pa.array(np.arange(len(gone)), mask=gone))
            parts, with_parts = blob_parts(values)
            described = with_parts(packs.packed(parts))
            if not field.nullable:
                described = without_nulls(described)
            rows = rows.set_column(index, field, described)
        return rows

    def note(self, rows: Sequence[pa.RecordBatch]) -> None:
        """Note which packs contain the BLOBs of rows of the open data file."""
        for batch in rows if self._names else ():
            live = batch.select([*self._names, VALUE_KIND])
            gone = is_retract(fixed_values(live.column(VALUE_KIND), np.int8))
            live = live.filter(pa.array(~gone)) if gone.any() else live
            for name in self._names:
                self._named |= files_named(blob_parts(live.column(name))[0].drop_null())

    def with_references(self, folder: str, file: DataFileMeta) -> DataFileMeta:
        """Write the `.blobref` file of a data file, which has all rows noted since the last call."""
        if not self._names:
            return file
        name, named, self._named = file.file_name + REFERENCES, self._named, set()
        self._paths.append(f"{folder}/{name}")
        self._store.io.write_bytes(f"{folder}/{name}", encode_references(named))
        return replace(file, extra_files=(*file.extra_files, name))

    def close(self) -> None:
        """End all open packs."""
        for packs in self._packs.values():
            packs.close()

    def abort(self) -> None:
        """Delete everything written, as far as possible."""
        for packs in self._packs.values():
            packs.abort()
        for path in self._paths:
            with suppress(OSError):
                self._store.io.delete(path)
