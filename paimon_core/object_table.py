"""Object tables: their rows are the files below a folder, listed on each read. They have no snapshots and accept no
rows.

The columns are fixed, even if an older version of Paimon wrote a schema file with other columns. A
table is in its own folder; its objects are in the folder of its option `path`, or else in the table's folder.

Source: `ObjectTable` and `ObjectTableImpl` of Paimon 2.0. Paimon 1.0 to 1.2 had `object-location`, and a listing that
`refresh_object_table` commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidSchemaError, NotAllowedError, UnsupportedFeatureError
from paimon_core.io.file_io import FileIO, FileStatus
from paimon_core.io.load import check_location, load_file_io, normalize
from paimon_core.lazy import ImportedOnCall, regex
from paimon_core.secrets import without_secrets
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema, highest_field_id
from paimon_core.spec.types import BIGINT, STRING, DataField
from paimon_core.store.allowed import EXTERNAL_PATHS
from paimon_core.store.features import check_selectable
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
else:
    ThreadPoolExecutor = ImportedOnCall("concurrent.futures", "ThreadPoolExecutor")

OBJECT_TABLE = "object-table"
_TYPE, _PATH, _OLD_PATH = "type", "path", "object-location"
_BIGINT, _TEXT = BIGINT.with_nullable(False), STRING.with_nullable(False)
OBJECT_FIELDS = (
    DataField(id=0, name="path", type=_TEXT, description="Relative path of object"),
    DataField(id=1, name="name", type=_TEXT, description="Name of object"),
    DataField(id=2, name="length", type=_BIGINT, description="Bytes length of object"),
    DataField(id=3, name="mtime", type=_BIGINT, description="Modification time of object"),
    DataField(id=4, name="atime", type=_BIGINT, description="Access time of object"),
    DataField(id=5, name="owner", type=STRING, description="Owner of object"),
)
_DEFINITION = regex(r"schema/schema-\d+")
_THREADS = 16  # for listing folders: remote storages have a long latency


def is_object_table(options: Mapping[str, str]) -> bool:
    """Return whether the options of a schema define an object table."""
    return options.get(_TYPE, "table").strip().lower() == OBJECT_TABLE


def object_schema(identifier: Identifier, schema: TableSchema) -> TableSchema:
    """Return the schema of a new object table. Raises `InvalidSchemaError` if the definition has columns or keys."""
    names = [f.name for f in OBJECT_FIELDS]
    if own := [f.name for f in schema.fields if f.name not in names]:
        raise InvalidSchemaError(
            f"Table {identifier} cannot have a column {own[0]!r}: an object table lists files, and its columns are "
            f"{', '.join(names)}. Leave columns out."
        )
    if schema.partition_keys or schema.primary_keys:
        raise InvalidSchemaError(
            f"Table {identifier} cannot have keys: an object table lists files. Leave the keys out."
        )
    options = dict(schema.options)
    if (old := options.pop(_OLD_PATH, None)) is not None:
        options.setdefault(_PATH, old)
    if _PATH in options:
        check_location(options[_PATH])
        options[_PATH] = normalize(options[_PATH])
    return replace(schema, fields=OBJECT_FIELDS, highest_field_id=highest_field_id(OBJECT_FIELDS), options=options)


def object_location(store: TableStore) -> str:
    """Return the folder of a table's objects."""
    options = store.schema.options
    return normalize(options.get(_PATH) or options.get(_OLD_PATH) or store.root)


@dataclass(frozen=True, slots=True)
class ObjectTable:
    """An object table: `location` is the folder of its objects, `io` its storage."""

    store: TableStore
    location: str
    io: FileIO

    @staticmethod
    def of(store: TableStore, catalog_options: Mapping[str, str]) -> ObjectTable:
        """Open an object table. Raises `NotAllowedError` for a folder that the catalog does not allow,
        `InvalidOptionError`."""
        check_selectable(store)
        location = object_location(store)
        if location == store.root:
            return ObjectTable(store, location, store.io)
        if not store.allowed.takes_named_file(location, store.root):
            raise NotAllowedError(
                f"Table {store.name} cannot list {without_secrets(location)}: it is outside of the catalog's "
                f"'{EXTERNAL_PATHS}'. If the table may list it, add it to that option."
            )
        return ObjectTable(store, location, load_file_io(location, catalog_options))

    def read(self) -> pa.Table:
        """Return the files below the folder, sorted by path, or no rows if the folder does not exist. Raises
        `StorageError`.

        A link to a file counts as a file. Links to folders are not followed, because they may lead outside, or in a
        circle. `mtime` is in epoch milliseconds. Storages return no `atime` and `owner`: they are 0 and NULL.
        """
        files = list(self._files())
        below = len(self.location.rstrip("/")) + 1
        paths = [_text(f.path[below:]) for f in files]
        columns = [
            paths,
            [p.rpartition("/")[2] for p in paths],
            [f.size for f in files],
            [f.modified for f in files],
            pa.repeat(pa.scalar(0, pa.int64()), len(files)),
            pa.nulls(len(files), pa.string()),
        ]
        schema = arrow_schema(OBJECT_FIELDS)
        arrays = [pa.array(c, f.type) if isinstance(c, list) else c for c, f in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema).sort_by("path")

    def _files(self) -> Iterator[FileStatus]:
        """Yield the files of each folder, one level of folders after another."""
        folders, below = [self.location], len(self.location.rstrip("/")) + 1
        with ThreadPoolExecutor(_THREADS) as pool:
            while folders:
                found = [f for entries in pool.map(self._entries, folders) for f in entries]
                folders = [f.path for f in found if f.is_dir and not f.is_link]
                for file in found:
                    # If the objects are in the table's own folder, the folder also has the table's definition.
                    own = self.location == self.store.root and _DEFINITION.fullmatch(file.path[below:])
                    if not file.is_dir and not own:
                        yield file

    def _entries(self, folder: str) -> list[FileStatus]:
        return list(self.io.list(folder))


def refuse_object_table(name: str) -> UnsupportedFeatureError:
    """Return the error for a statement on an object table that needs snapshots or writes rows."""
    return UnsupportedFeatureError(
        f"Table {name} lists the files of a folder ('type' = '{OBJECT_TABLE}'): it can only be read, and has no "
        "snapshots, system tables or procedures. Add files to the folder by other means."
    )


def _text(path: str) -> str:
    """Return a path as text. Bytes that are not valid UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
