"""Values of BLOB columns that are descriptors, and the bytes to which they refer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import byte_lengths, stored_bytes, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, NotAllowedError, PaimonError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io, normalize, without_links
from paimon_core.io.ranges import read_ranges
from paimon_core.io.unlinked import UnlinkedFileIO
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import BLOB_VIEW_FIELD, BLOB_VIEW_RESOLVE
from paimon_core.secrets import without_secrets
from paimon_core.spec.encodings.blob_descriptor import DESCRIPTOR_HEADS, TAIL_SIZE, BlobDescriptor
from paimon_core.spec.encodings.blob_view import VIEW_HEAD, VIEW_TAIL, viewed_table
from paimon_core.store.allowed import DESCRIPTORS, EXTERNAL_PATHS, Allowed, lies_below
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.arrow.blob_parts import blob_parts, row_sums
else:
    blob_parts = ImportedOnCall("paimon_core.arrow.blob_parts", "blob_parts")
    row_sums = ImportedOnCall("paimon_core.arrow.blob_parts", "row_sums")

_PACK = ".managed.blob"
MOST_BYTES = 64 * 2**20  # of values that are fetched at once, except for a single value
_MOST_NEAR = 8 * 2**20  # the same on a storage without latency: memory of this size is used again while it is in caches
_UNKNOWN_SIZE = MOST_BYTES  # the assumed size of a value that reaches to the end of its file: it is fetched alone
_MOST_SIZE = 2**40  # no file is larger; only a damaged descriptor has a larger size


@dataclass(frozen=True, slots=True)
class DescribedBlobs:
    """A reader of the bytes to which a table's descriptors refer, in the table's storage or another storage."""

    own: FileIO
    root: str
    options: Mapping[str, str]
    allowed: Allowed

    @staticmethod
    def of(store: TableStore) -> DescribedBlobs:
        values = store.options.values
        given = {k.removeprefix(DESCRIPTORS): value for k, value in values.items() if k.startswith(DESCRIPTORS)}
        return DescribedBlobs(store.io, store.root, dict(store.allowed.descriptors) | given, store.allowed)

    @property
    def at_once(self) -> int:
        """Return the number of bytes to fetch at once."""
        return min(MOST_BYTES, _MOST_NEAR) if self.own.is_near else MOST_BYTES

    def sizes(self, values: pa.Array) -> NDArray[np.int64]:
        """Return the number of bytes of each value, if its descriptor contains it; shape (rows,)."""
        described = is_descriptor(values)
        sizes = byte_lengths(values.fill_null(b""))
        if described.any():
            lengths = _parts(values.filter(pa.array(described)))[2]
            sizes[described] = np.where(lengths < 0, _UNKNOWN_SIZE, np.minimum(lengths, _MOST_SIZE))
        return sizes

    def pieces(self, values: pa.Array) -> Iterator[pa.Array]:
        """Divide values, or arrays and maps of values, into pieces to fetch at once."""
        ends, start = np.cumsum(row_sums(values, self.sizes(blob_parts(values)[0]))), 0
        while start < len(ends):
            before = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + self.at_once, side="right")))
            yield values.slice(start, end - start)
            start = end

    def resolved(
        self,
        values: pa.Array,
        check: Callable[[str], None] | None = None,
        missing: Callable[[str], PaimonError] | None = None,
    ) -> pa.Array:
        """Replace descriptors by the bytes to which they refer, as large binaries. Other values stay.

        `check` raises an error for a file that must not be read. Raises `InvalidDataError` for an invalid descriptor,
        or if its file does not exist or is too short; `StorageError`. `missing` makes another error for a file that
        does not exist.
        """
        described = is_descriptor(values)
        if not described.any():
            return values.cast(pa.large_binary())
        heads, starts, lengths = _parts(values.filter(pa.array(described)))
        found = pa.nulls(len(heads), pa.large_binary())
        names = heads.dictionary_encode()
        codes = names.indices.to_numpy()
        for code, head in enumerate(names.dictionary.to_pylist()):  # a file each
            uri = BlobDescriptor.of_head(head).uri
            if check is not None:
                check(normalize(uri))
            chosen = codes == code
            read = self._read(uri, starts[chosen], lengths[chosen], missing)
            found = read if chosen.all() else pc.replace_with_mask(found, chosen, read)
        return found if described.all() else pc.replace_with_mask(values.cast(pa.large_binary()), described, found)

    def read(self, descriptor: BlobDescriptor) -> bytes:
        """Read the bytes to which a descriptor refers.

        Raises `InvalidDataError` if the file does not exist or is too short, `StorageError`."""
        found = self._read(descriptor.uri, np.array([descriptor.offset]), np.array([descriptor.length]))
        return bytes(found[0].as_py())

    def _read(
        self,
        uri: str,
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        missing: Callable[[str], PaimonError] | None = None,
    ) -> pa.Array:
        path = normalize(uri)
        location = self._allowed(path)
        try:
            return read_ranges(self._storage(location), location, starts, lengths)
        except FileNotFoundError as e:
            if missing is not None:
                raise missing(path) from e
            raise InvalidDataError(
                f"A blob descriptor names {without_secrets(path)}, but there is no such file. Restore the file, or "
                "leave the row out."
            ) from e
        except EOFError as e:
            raise InvalidDataError(f"A blob descriptor names {e}.") from e

    def _allowed(self, path: str) -> str:
        """Return the location to open. Raises `NotAllowedError`."""
        location = self.allowed.named_file(path, self.root)
        if location is not None:
            return location
        where = "outside of the locations in the catalog's option"
        if self.allowed.with_users:
            where = f"in another table of a warehouse with users, or {where}"
        raise NotAllowedError(
            f"A blob descriptor names {without_secrets(path)}, which is {where} '{EXTERNAL_PATHS}': add its "
            "location there, or leave the row out."
        )

    def _storage(self, path: str) -> FileIO:
        if self.allowed.limits_files and "://" not in path:
            return UnlinkedFileIO()
        if path.startswith(f"{self.root}/"):
            return self.own
        same = path.partition("://")[:2] == self.root.partition("://")[:2] if "://" in path else "://" not in self.root
        return self.own if same and not self.options else load_file_io(path, self.options)


def _parts(descriptors: pa.Array) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.int64]]:
    """Split each descriptor into its first bytes and its two last numbers: the start and the length of the value.

    Raises `InvalidDataError` if a descriptor is too short.
    """
    kept = byte_lengths(descriptors) - TAIL_SIZE
    if (kept < 0).any():
        BlobDescriptor.decode(descriptors[int(np.argmin(kept))].as_py())  # raises with the exact reason
    heads = pc.binary_slice(descriptors, 0, -TAIL_SIZE)
    data, _ = stored_bytes(pc.binary_slice(descriptors, -TAIL_SIZE))
    numbers = np.frombuffer(data.tobytes(), dtype="<i8").reshape(-1, 2)
    return heads, numbers[:, 0].astype(np.int64), numbers[:, 1].astype(np.int64)


def is_descriptor(values: pa.Array) -> NDArray[np.bool_]:
    """Return for each value whether it is a descriptor, by its first bytes."""
    found = np.zeros(len(values), dtype=np.bool_)
    for head in DESCRIPTOR_HEADS:
        found |= pc.fill_null(pc.starts_with(values, head), False).to_numpy(zero_copy_only=False)
    return found


def view_parts(
    column: str, views: pa.Array
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split blob views: the distinct names of tables, and per view the number of its name, the id of the column and the
    id of the row. Raises `InvalidDataError` for a value that is not a view."""
    begins = pc.starts_with(views, VIEW_HEAD).to_numpy(zero_copy_only=False)
    if not begins.all() or (byte_lengths(views) < len(VIEW_HEAD) + VIEW_TAIL).any():
        raise InvalidDataError(
            f"Column {column!r} is in '{BLOB_VIEW_FIELD.key}' and takes blob views only, as sys.blob_view makes them. "
            f"To copy views, read them with '{BLOB_VIEW_RESOLVE.key}' = 'false'."
        )
    heads = pc.binary_slice(views, 0, -VIEW_TAIL).dictionary_encode()
    data, _ = stored_bytes(pc.binary_slice(views, -VIEW_TAIL))
    ids = np.frombuffer(data.tobytes(), dtype=[("field", "<i4"), ("row", "<i8")])
    names = [viewed_table(head) for head in heads.dictionary.to_pylist()]
    return names, heads.indices.to_numpy().astype(np.int64), ids["field"].astype(np.int64), ids["row"].astype(np.int64)


def files_named(values: pa.Array) -> set[str]:
    """Return the URIs of the files that descriptors refer to. Raises `InvalidDataError` for an invalid descriptor."""
    heads, _, _ = _parts(values.filter(pa.array(is_descriptor(values))))
    return {BlobDescriptor.of_head(head).uri for head in pc.unique(heads).to_pylist()}


def descriptors(path: str, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> pa.Array:
    """Return descriptors of parts of a file, with NULL for the length -1."""
    spans = np.ascontiguousarray(np.stack([starts, lengths], axis=1).astype("<i8"))
    bounds = pa.py_buffer(np.arange(len(spans) + 1, dtype=np.int32) * TAIL_SIZE)
    tails = pa.Array.from_buffers(pa.binary(), len(spans), [None, bounds, pa.py_buffer(spans)])
    head = BlobDescriptor(path).encode()[:-TAIL_SIZE]
    found = pc.binary_join_element_wise(pa.scalar(head, pa.binary()), tails, pa.scalar(b"", pa.binary()))
    return pc.if_else(pa.array(lengths >= 0), found, None)


def check_views(name: str, values: pa.Array) -> None:
    """Raise `InvalidDataError` if a value of a view column is not a view."""
    view_parts(name, values.drop_null())


def check_descriptors(name: str, values: pa.Array, root: str) -> None:
    """Raise `InvalidDataError` if a value of a descriptor column is not a descriptor, or if it names a pack of the
    table in the folder `root`. A clean-up would delete such a pack, because it only looks for the packs that other BLOB
    columns name.
    """
    if (validity(values) & ~is_descriptor(values)).any():
        raise InvalidDataError(
            f"Column {name!r} is in 'blob-descriptor-field' and takes blob descriptors only, as sys.path_to_descriptor "
            "makes them."
        )
    for uri in sorted(files_named(values.drop_null())):
        path = normalize(uri)
        if any(p.endswith(_PACK) for p in (path, without_links(path))) and lies_below(path, root):
            raise InvalidDataError(
                f"Column {name!r} is in 'blob-descriptor-field' and cannot refer to {path}: it has BLOBs of the same "
                "table, and is deleted with the rows of their own column. Write the bytes to a BLOB column."
            )
