"""Values of BLOB columns that are descriptors: the bytes that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.errors import InvalidDataError
from paimon_core.formats.columns import validity
from paimon_core.io.file_io import FileIO, storage_errors
from paimon_core.io.load import load_file_io, normalize
from paimon_core.spec.blob_descriptor import DESCRIPTOR_HEADS, TO_THE_END, BlobDescriptor
from paimon_core.store.table_store import TableStore

_PREFIX = "blob-descriptor."  # of options that say how to reach the storages of descriptors


@dataclass(frozen=True, slots=True)
class DescribedBlobs:
    """Reads what the descriptors of a table say, from its own storage or another."""

    own: FileIO
    root: str
    options: Mapping[str, str]

    @staticmethod
    def of(store: TableStore) -> DescribedBlobs:
        values = store.options.values
        given = {key.removeprefix(_PREFIX): value for key, value in values.items() if key.startswith(_PREFIX)}
        return DescribedBlobs(store.io, store.root, given)

    def resolved(self, values: pa.Array) -> pa.Array:
        """The values, those that are descriptors replaced by the bytes they stand for. Raises as `read`."""
        described = is_descriptor(values)
        if not described.any():
            return values
        # each is a file of its own to open
        found = [self.read(BlobDescriptor.decode(v.as_py())) for v in values.filter(pa.array(described))]
        return pc.replace_with_mask(values.cast(pa.large_binary()), described, pa.array(found, pa.large_binary()))

    def read(self, descriptor: BlobDescriptor) -> bytes:
        """Raises `InvalidDataError` where there is no such file or place, `StorageError`."""
        path, start = normalize(descriptor.uri), descriptor.offset
        io = self._storage(path)
        try:
            with storage_errors("read", path), io.arrow().open_input_file(io.arrow_path(path)) as file:
                size = file.size()
                length = size - start if descriptor.length == TO_THE_END else descriptor.length
                data = file.read_at(length, start) if start >= 0 and length >= 0 else None
        except FileNotFoundError as e:
            raise InvalidDataError(
                f"A blob descriptor names {path}, and there is no such file. Bring it back, or leave the row out."
            ) from e
        if data is None or len(data) < length:
            raise InvalidDataError(
                f"A blob descriptor names {length} bytes from {start} on of {path}, which has {size}."
            )
        return bytes(data)

    def _storage(self, path: str) -> FileIO:
        same = path.partition("://")[:2] == self.root.partition("://")[:2] if "://" in path else "://" not in self.root
        return self.own if same and not self.options else load_file_io(path, self.options)


def is_descriptor(values: pa.Array) -> NDArray[np.bool_]:
    """Which values are descriptors that say so."""
    found = np.zeros(len(values), dtype=np.bool_)
    for head in DESCRIPTOR_HEADS:
        found |= pc.fill_null(pc.starts_with(values, head), False).to_numpy(zero_copy_only=False)
    return found


def check_descriptors(name: str, values: pa.Array) -> None:
    """Raises `InvalidDataError` where a value of a descriptor column is none."""
    if (validity(values) & ~is_descriptor(values)).any():
        raise InvalidDataError(
            f"Column {name!r} is in 'blob-descriptor-field' and takes blob descriptors only, as sys.path_to_descriptor "
            "makes them."
        )
