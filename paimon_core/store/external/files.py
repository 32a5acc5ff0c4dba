"""Files outside of a table that its metadata names: which of them may be read and deleted. Other users may have written
a schema or a manifest, but the files that it names are read and deleted with the rights of the current user. So such a
file is accepted only at a place where writers put it: in an external path that the table declares or the catalog
allows, in the folder of its entry's bucket, under its entry's name, which contains a UUID. An external path must not be
in the folder of another table. It must not be a whole storage, unless the catalog allows it.

    PATH/[FOLDER/][KEY=VALUE/…]bucket-N/[0110/1010/0001/11001011/]data-UUID-N.FORMAT      data files, and index files
    PATH/[FOLDER/][KEY=VALUE/…]bucket-N/[0110/1010/0001/11001011/]data-UUID-N.managed.blob  packs of BLOBs
    PATH/TYPE-global-index-UUID.index                                                    files of global indexes
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.columns import fixed_values
from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, InvalidDataError, NotAllowedError, StorageError, UnfamiliarFormError
from paimon_core.lazy import regex
from paimon_core.manifests.entries import EntryColumns
from paimon_core.options import DATA_FILE_DIRECTORY, DATA_FILE_EXTERNAL_PATHS, GLOBAL_INDEX_EXTERNAL_PATH, TableOptions
from paimon_core.secrets import without_secrets
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.paths import bucket_folder, escape_path_name, plain_path
from paimon_core.store.allowed import EXTERNAL_PATHS
from paimon_core.store.schemas import list_schemas, schema_ids
from paimon_core.store.table_store import TableStore

_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PACK = ".managed.blob"
_ENTROPY = "(?:[01]{4}/[01]{4}/[01]{4}/[01]{8}/)?"
_GLOBAL_INDEX = regex(f"[^/]*-global-index-{_UUID}\\.index")
_UNUSUAL = regex(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f\\]")
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_ALIKE = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}


def check_data_files(store: TableStore, manifest: str, entries: EntryColumns) -> None:
    """Raise an error if the entries of a manifest name invalid files outside of the table.

    Raises `CorruptFileError` for a path that writers do not use, `NotAllowedError` for a folder that the table must not
    use."""
    paths = entries.external_paths
    if paths.null_count == len(paths):
        return
    rows = np.flatnonzero(fixed_values(pc.binary_length(paths), np.int32))
    if not rows.size:
        return
    try:
        texts, names = (c.take(pa.array(rows)).cast(pa.string()) for c in (paths, entries.names))
    except pa.ArrowException as e:
        raise CorruptFileError(manifest, f"a path outside of the table is not valid text ({e})") from e
    parts = pc.extract_regex(texts, f"^{_layout(store)}$")
    found = pc.struct_field(parts, "root"), pc.struct_field(parts, "bucket"), pc.struct_field(parts, "name")
    numbers = entries.buckets[rows]
    folders = {n: bucket_folder(n) for n in set(numbers.tolist())}
    expected = pa.array([folders[n] for n in numbers.tolist()])
    right = pc.and_(pc.equal(found[1], expected), pc.equal(found[2], names))
    right = pc.fill_null(pc.and_(right, pc.match_substring_regex(names, _UUID)), False)
    if not pc.all(right).as_py():
        raise _outside(manifest, texts.filter(pc.invert(right))[0].as_py())
    codes, extra = entries.lists("_EXTRA_FILES")
    for code in sorted(set(codes[rows].tolist())):
        for name in extra[code] if code >= 0 else ():
            if not re.search(_UUID, name):
                raise _outside(manifest, name)
    for root in pc.unique(found[0]).to_pylist():
        check_location(store, root, DATA_FILE_EXTERNAL_PATHS.key)


def check_index_files(store: TableStore, manifest: str, entries: Iterable[IndexManifestEntry]) -> None:
    """Check the entries of an index manifest, like `check_data_files`."""
    layout = re.compile(_layout(store))
    for entry in entries:
        path, name = entry.file.external_path, entry.file.file_name
        if not path:
            continue
        if entry.file.global_index is not None:
            folder, _, last = path.rpartition("/")
            if last != name or not _GLOBAL_INDEX.fullmatch(name):
                raise _outside(manifest, path)
            # Usually the option was passed to the procedure that created the index, so the schema does not have it.
            check_location(store, folder, None)
            continue
        found = layout.fullmatch(path)
        if (
            not found
            or (found["bucket"], found["name"]) != (bucket_folder(entry.bucket), name)
            or not re.search(_UUID, name)
        ):
            raise _outside(manifest, path)
        check_location(store, found["root"], DATA_FILE_EXTERNAL_PATHS.key)


def check_pack(store: TableStore, path: str) -> None:
    """Check a file to which a descriptor of a keyed table refers.

    Raises `InvalidDataError` if it is not a pack of BLOBs, `NotAllowedError` if it is in a folder that the table must
    not use."""
    if not path.endswith(_PACK):
        raise InvalidDataError(
            f"Metadata of table {store.name} names {path} for a BLOB, but tables with a primary key keep BLOBs in "
            f"files '*{_PACK}' only."
        )
    if path.startswith(f"{store.root}/") and not _UNUSUAL.search(_parts(path)[2][1:]):
        return
    found = re.fullmatch(_layout(store), path)
    check_location(store, found["root"] if found else path.rpartition("/")[0], DATA_FILE_EXTERNAL_PATHS.key)


def check_location(store: TableStore, folder: str, option: str | None) -> None:
    """Raise `NotAllowedError` for a folder that must not have files of a table.

    The table's `option` must declare the folder.
    """
    key = f"{store.root}?{option}?{folder}"  # cached as long as the checked manifests

    def look() -> tuple[str]:
        _ExternalFolders(store).check(folder, option)
        return (folder,)

    store.cache.get(key, look)


def deletable(store: TableStore, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the files outside of the table that may be deleted: their external path and their own path.

    Such a file has a name that writers use, and is in a folder that the table may use."""
    external, layout = _ExternalFolders(store), re.compile(_layout(store))
    for path in paths:
        folder, _, name = path.rpartition("/")
        found = layout.fullmatch(path) if re.search(_UUID, name) else None
        root, option = (found["root"], DATA_FILE_EXTERNAL_PATHS) if found else (folder, GLOBAL_INDEX_EXTERNAL_PATH)
        if (found or _GLOBAL_INDEX.fullmatch(name)) and external.takes(root, option.key, folder):
            yield root, path


def searched_folders(store: TableStore) -> list[str]:
    """Return the external paths of a table in which to search for orphans.

    These are only paths that the catalog allows, because another table may have the same path."""
    if store.allowed.external_paths is None:
        return []
    external = _ExternalFolders(store)
    roots = [plain_path(path).rstrip("/") for path in store.options[DATA_FILE_EXTERNAL_PATHS]]
    return [root for root in roots if external.takes(root, DATA_FILE_EXTERNAL_PATHS.key, root)]


@dataclass(frozen=True, slots=True)
class _ExternalFolders:
    """Checked folders outside of a table. Each folder is checked once."""

    store: TableStore
    _taken: dict[tuple[str, str | None, str], bool] = field(default_factory=dict)
    _tables: dict[str, bool] = field(default_factory=dict)

    def takes(self, root: str, option: str, folder: str) -> bool:
        """Return whether the table may delete files in a folder of the external path `root`."""
        key = root, option, folder
        if key not in self._taken:
            try:
                self.check(root, option)
                self._taken[key] = self._table_above(folder) is None
            except NotAllowedError:
                self._taken[key] = False
        return self._taken[key]

    def check(self, folder: str, option: str | None) -> None:
        """Check a folder; see `check_location`."""
        store, path = self.store, plain_path(folder).rstrip("/")
        scheme, _, key = _parts(path)
        if _UNUSUAL.search(key[1:]) and key.strip("/"):
            raise self._refused(folder, "is not a normalized path")
        own = _parts(store.root)[0]
        if _ALIKE.get(scheme, scheme) != _ALIKE.get(own, own):
            raise self._refused(folder, f"is on another storage than the table ({own or 'a local disk'})")
        allowed = store.allowed.external_paths
        if allowed is not None and not store.allowed.takes_path(path):
            raise self._refused(folder, f"is outside of the locations in '{EXTERNAL_PATHS}'")
        if allowed is None and not key.strip("/"):
            raise self._refused(folder, "is a whole storage")
        if allowed is None and option is not None and path not in self._declared(option):
            raise self._refused(folder, f"is not declared by its '{option}'")
        data_folder = store.options[DATA_FILE_DIRECTORY]
        if (other := self._table_above(f"{path}/{data_folder}" if data_folder else path)) is not None:
            raise self._refused(folder, f"is in the folder of another table, {other}")

    def _declared(self, option: str) -> Iterator[str]:
        yield from _declared(self.store.options, option)
        main = replace(self.store, branch="")
        for schema in (s for store in {self.store.branch: self.store, "": main}.values() for s in list_schemas(store)):
            yield from _declared(TableOptions(schema.options), option)

    def _table_above(self, folder: str) -> str | None:
        """Return the folder of another table that contains a folder or is the same folder, or None."""
        scheme, bucket, key = _parts(folder)
        start = f"{scheme}://{bucket}" if scheme else ""
        parts = key.strip("/").split("/")
        above = (f"{start}/{'/'.join(parts[:n])}" for n in range(len(parts), 0, -1))
        return next((f for f in above if f != self.store.root and self._is_table(f)), None)

    def _is_table(self, folder: str) -> bool:
        if folder not in self._tables:
            try:
                self._tables[folder] = bool(schema_ids(self.store.io, folder))
            except StorageError:  # the user may not list the folder
                self._tables[folder] = False
        return self._tables[folder]

    def _refused(self, folder: str, why: str) -> NotAllowedError:
        return NotAllowedError(
            f"Table {self.store.name} cannot have files in {without_secrets(folder)}: it {why}. If the table may "
            f"have files there, add the locations of the tables' files to the catalog's option '{EXTERNAL_PATHS}'."
        )


def _declared(options: TableOptions, option: str) -> Iterator[str]:
    yield from (plain_path(p.strip()).rstrip("/") for p in options.values.get(option, "").split(",") if p.strip())


def _layout(store: TableStore) -> str:
    """Return a pattern for paths of data files outside of the table, for both Python and Arrow."""
    data_folder = store.options[DATA_FILE_DIRECTORY]
    folders = [re.escape(data_folder)] if data_folder else []
    folders += [f"{re.escape(escape_path_name(key))}=[^/]+" for key in store.schema.partition_keys]
    inside = "".join(f"{folder}/" for folder in folders)
    return f"(?P<root>.+?)/{inside}(?P<bucket>bucket-[^/]+)/{_ENTROPY}(?P<name>[^/]+)"


def _parts(path: str) -> tuple[str, str, str]:
    """Return the scheme and bucket of a path (both "" for local paths), and the rest."""
    match = _SCHEME.fullmatch(path)
    return (match[1].lower(), match[2], match[3]) if match else ("", "", path)


def _outside(manifest: str, path: str) -> UnfamiliarFormError:
    return UnfamiliarFormError(
        manifest,
        f"it names {path} as a file outside of the table, but no known writer puts files there",
        "check the writer of this metadata before you use the table again",
    )
