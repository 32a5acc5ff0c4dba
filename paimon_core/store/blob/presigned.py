"""Presigned URLs: a descriptor becomes an address at which everyone can read the value for a limited time.

A URL is of a whole object, and a value is a part of a `.blob` file. So the value is copied to an object of its own in
the same folder, once: its name is a hash of the descriptor. The URL grants access without any other check: it is
neither logged nor stored. Only values in the table's own `.blob` files get one.
Source: `OSSBlobPresigner` of Paimon 2.1, which does the same for OSS.
"""

from __future__ import annotations

import hashlib

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, NotAllowedError, PaimonError, UnsupportedFeatureError
from paimon_core.io.delegating import innermost
from paimon_core.io.file_io import FileIO, SignsUrls
from paimon_core.io.load import normalize
from paimon_core.io.schemes import scheme_of
from paimon_core.io.side_by_side import side_by_side
from paimon_core.secrets import without_secrets
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.store.allowed import lies_below
from paimon_core.store.blob.values import DescribedBlobs
from paimon_core.store.features import check_readable, check_seen_whole
from paimon_core.store.table_store import TableStore

_ENDING = ".blob"
_PREFIX = "_bloburl_"  # readers and listings skip such names
_KINDS = {"s3": "S3", "oss": "OSS", "gcs": "Google Cloud Storage"}
_LONGEST = 7 * 86_400  # seconds that storages allow
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class PresignedUrls:
    """Makes the URLs of values of a table, which are valid for some seconds. With `lenient`, a value that cannot have
    one has NULL instead of an error."""

    store: TableStore
    seconds: int
    lenient: bool

    @staticmethod
    def of(store: TableStore, micros: int, *, lenient: bool) -> PresignedUrls:
        """Return the maker for the rights of the catalog's user. Raises `InvalidOptionError` for another validity than
        whole seconds up to a week, `UnsupportedFeatureError` for other storages, `NoPrivilegeError`."""
        check_readable(store)
        check_seen_whole(store)
        scheme = store.root.partition("://")[0] if "://" in store.root else "file"
        if scheme_of(scheme).kind not in _KINDS:
            raise UnsupportedFeatureError(
                f"Table {store.name} is on storage {scheme}://, which has no presigned URLs here: "
                f"{', '.join(_KINDS.values())} have them. Read the BLOBs by a query instead."
            )
        if micros <= 0 or micros % _MICROS or micros > _LONGEST * _MICROS:
            raise InvalidOptionError(
                "The validity of a presigned URL must be whole seconds, from one second to seven days: pass an "
                "interval such as INTERVAL '5' MINUTE."
            )
        return PresignedUrls(store, micros // _MICROS, lenient)

    def __call__(self, descriptors: pa.Array) -> pa.Array:
        """Return the URLs, NULL for NULL.

        Raises `InvalidDataError`, `NotAllowedError` for files that are not `.blob` files of the table, `StorageError`;
        `NoPrivilegeError` if the value has no object yet, and the user may not write to the table.
        """
        found = descriptors.dictionary_encode()
        urls = side_by_side(self.store.io, self._url, found.dictionary.to_pylist())
        return pc.take(pa.array(urls, pa.string()), found.indices)

    def _url(self, data: bytes) -> str | None:
        try:
            return _signed(self.store, data, self.seconds)
        except (PaimonError, OSError):
            if self.lenient:
                return None
            raise


def _signed(store: TableStore, data: bytes, seconds: int) -> str:
    descriptor = BlobDescriptor.decode(data)
    path = normalize(descriptor.uri)
    if not path.startswith(f"{store.root}/") or not lies_below(path, store.root) or not path.endswith(_ENDING):
        raise NotAllowedError(
            f"A blob descriptor names {without_secrets(path)}, which is not a .blob file of table {store.name}: only "
            "these have presigned URLs. Pass a BLOB that was read with 'blob-as-descriptor' = 'true'."
        )
    name = _PREFIX + hashlib.sha256(BlobDescriptor(path, descriptor.offset, descriptor.length).encode()).hexdigest()
    target = f"{path.rpartition('/')[0]}/{name}"
    if not _has(store.io, target, descriptor.length):
        store.io.write_bytes(target, DescribedBlobs.of(store).read(descriptor))
    return _signing(store.io, target, seconds)


def _has(io: FileIO, path: str, length: int) -> bool:
    """Return whether a value was copied before. A negative length is the rest of a file."""
    try:
        found = io.status(path)
    except FileNotFoundError:
        return False
    return not found.is_dir and (length < 0 or found.size == length)


def _signing(io: FileIO, path: str, seconds: int) -> str:
    store = innermost(io)
    if not isinstance(store, SignsUrls):
        raise UnsupportedFeatureError(
            f"The storage of {without_secrets(path)} has no presigned URLs. Read the BLOBs by a query instead."
        )
    return store.signed_url(path, seconds)
