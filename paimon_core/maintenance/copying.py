"""Copy the rows of a version into another table: its unchanged files, with the schema versions that they need."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from paimon_core.errors import CommitConflictError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.io import transfer
from paimon_core.io.transfer import Copy
from paimon_core.options import BUCKET, FILE_FORMAT, ROW_TRACKING
from paimon_core.spec.index_manifest import DeletionVectorMeta, IndexFileMeta
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_paths
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataType
from paimon_core.store.ddl.constraints import check_takes_rows
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.features import check_selectable, check_stays
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import create_schema, list_schemas
from paimon_core.store.table_store import TableStore


def check_takes_files(source: TableStore, target: TableStore) -> None:
    """Raise `InvalidSchemaError` if a table cannot have the files of another table.

    Both must have the same keys, buckets and format, and the target must have all columns of the source. Raises
    `UnsupportedFeatureError` if rows would get ids that other rows already have, and for BLOBs in packs."""
    if target.options[ROW_TRACKING]:
        raise UnsupportedFeatureError(
            f"Table {target.name} cannot take the files of {source.name}: it has row tracking, and the files "
            "contain row ids that its own rows may have. Copy them to a new table, or INSERT the rows."
        )
    check_stays(list_schemas(source), source.name, "copied with its files")
    given, taking = source.schema, target.schema
    check_takes_rows(given.options, taking.options, target.name)
    pairs = {
        "the primary key": (set(given.primary_keys), set(taking.primary_keys)),
        "the partition keys": (given.partition_keys, taking.partition_keys),
        "'bucket'": (source.options[BUCKET], target.options[BUCKET]),
        "'file.format'": (source.options[FILE_FORMAT], target.options[FILE_FORMAT]),
    }
    unlike = [what for what, (a, b) in pairs.items() if a != b]
    known = set(_columns(taking))
    unlike += [f"column {f.name!r}" for f, c in zip(given.fields, _columns(given), strict=True) if c not in known]
    if unlike:
        raise InvalidSchemaError(
            f"Table {target.name} cannot take the files of {source.name}: {', '.join(unlike)} differ. Copy them to a "
            "new table."
        )


def adopt_schemas(source: TableStore, snapshot: Snapshot | None, target: TableStore) -> dict[int, int]:
    """Map each schema of the files of `source` to a schema of the target. Schemas that the target lacks are inserted
    before its latest version.
    """
    needed = {e.file.schema_id for e in live_files(source, snapshot).values()}
    theirs = list_schemas(target)
    last, ids, count_from = theirs[-1], {_columns(s): s.id for s in theirs}, theirs[-1].id
    for schema in (s for s in list_schemas(source) if s.id in needed and _columns(s) not in ids):
        count_from += 1
        ids[_columns(schema)] = count_from
        _publish(target, replace(last, id=count_from, fields=schema.fields))
    if count_from != last.id:
        _publish(target, replace(last, id=count_from + 1))
    return {s.id: ids[_columns(s)] for s in list_schemas(source) if s.id in needed}


def _publish(target: TableStore, schema: TableSchema) -> None:
    if not create_schema(target.io, target.root, schema):
        raise CommitConflictError(
            f"Table {target.name} was altered meanwhile. Nothing was copied; run the statement again."
        )


def _columns(schema: TableSchema) -> tuple[tuple[int, str, DataType], ...]:
    return tuple((f.id, f.name, f.type) for f in schema.fields)


def copy_files(
    source: TableStore,
    snapshot: Snapshot | None,
    target: TableStore,
    which: PartitionFilter,
    schemas: Mapping[int, int] | None = None,
    copy: Copy = transfer.copy_files,
) -> list[CommitMessage]:
    """Copy the files of the partitions `which` with the function `copy`. Return the messages to commit to `target`.

    The target has the schemas of `source`, or else `schemas` maps their ids. In the second case, the files get new
    names, because the target may have files with their names. Raises `NoPrivilegeError`, `StorageError`,
    `FileNotFoundError`; files copied before the error stay in the target's folders as orphans.
    """
    check_selectable(source)
    check_stays(list_schemas(source), source.name, "copied with its files")
    data: dict[tuple[bytes, int, int], list[DataFileMeta]] = defaultdict(list)
    index: dict[tuple[bytes, int], list[IndexFileMeta]] = defaultdict(list)
    paths: list[tuple[str, str]] = []
    names: dict[str, str] = {}
    places = FilePlaces(source)
    for entry in live_files(source, snapshot, which).values():
        copied = replace(entry.file, external_path=None)
        if schemas is not None:
            names[copied.file_name] = _new_name(copied.file_name)
            copied = replace(
                copied,
                file_name=names[copied.file_name],
                schema_id=schemas[copied.schema_id],
                extra_files=tuple(map(_new_name, copied.extra_files)),
            )
        ours, theirs = (s.bucket_dir(entry.partition, entry.bucket) for s in (source, target))
        from_here = map(places.of, data_file_paths(ours, entry.file))
        paths += zip(from_here, data_file_paths(theirs, copied), strict=True)
        data[entry.partition, entry.bucket, entry.total_buckets].append(copied)
    for found in (e for e in index_entries(source, snapshot) if which.holds(e.partition)):
        file = replace(found.file, external_path=None)
        if schemas is not None:
            file = replace(file, file_name=_new_name(file.file_name), dv_ranges=_renamed(file.dv_ranges, names))
        bucket = found.partition, found.bucket
        paths.append((index_path(source, *bucket, found.file), index_path(target, *bucket, file)))
        index[bucket].append(file)
    copy(source.io, target.io, paths)
    return [
        CommitMessage(
            partition=partition,
            bucket=number,
            total_buckets=total,
            new_files=tuple(files),
            new_index_files=tuple(index.get((partition, number), ())),
        )
        for (partition, number, total), files in data.items()
    ]


def _renamed(
    ranges: tuple[DeletionVectorMeta, ...] | None, names: Mapping[str, str]
) -> tuple[DeletionVectorMeta, ...] | None:
    return ranges and tuple(replace(r, data_file=names[r.data_file]) for r in ranges)


def _new_name(name: str) -> str:
    """Return another name of the same kind: the part after the first dot names the format."""
    return f"copy-{uuid.uuid4()}{''.join(name.partition('.')[1:])}"
