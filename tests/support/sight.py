"""A warehouse as a new process sees it: every table, version, tag and branch, read completely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from paimon_core.errors import BranchNotFoundError
from paimon_core.format_table.kind import is_format_table
from paimon_core.format_table.table import FormatTable
from paimon_core.maintenance.orphans.search import find_orphans, remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_changelogs, expire_snapshots
from paimon_core.object_table import ObjectTable, is_object_table
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.split import DataSplit
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.cache import MetadataCache
from paimon_core.store.changelogs import changelog_ids
from paimon_core.store.consumers import list_consumers
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.all_tags import list_tags
from tests.support.histories import CheckedCache
from tests.support.place import Place, format_rows, rows_of

FOREVER = 2**62  # as a time: everything is older
Part = tuple[str, str]  # the parts of a table: from a name to a value
Sight = dict[Part, Any]
EMPTY = {"rows": [], "snapshots": {}, "changelogs": [], "statistics": False, "files": ([], []), "done": []}


class Memory:
    """The content of files, for as long as they do not change: looking again is fast if little has changed."""

    def __init__(self) -> None:
        self.metadata: MetadataCache = CheckedCache()
        self._rows: dict[Any, list[Any]] = {}

    def rows_of(self, table: Table, snapshot: Snapshot | None) -> list[Any]:
        """Return the rows of a version, or a sign that it has lost a file."""
        splits = tuple(table.plan(snapshot).splits)
        if not all(Path(path).exists() for split in splits for path in _paths(split)):
            return ["a file is missing"]
        known = (table.schema.fields, splits, *(_stamp(path) for split in splits for path in _paths(split)))
        if known not in self._rows:
            self._rows[known] = rows_of(table, snapshot)
        return self._rows[known]


def _paths(split: DataSplit) -> Iterator[str]:
    yield from (data_file_path(split.bucket_dir, file) for file in (*split.files, *split.before))
    yield from (deletion.path for deletion in (*split.deletions, *split.before_deletions))


def _stamp(path: str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def look(root: Path, memory: Memory) -> Sight:
    """Return everything that a user can see. Raises an error for damaged parts."""
    place, seen = Place(root, cache=memory.metadata), Sight()
    for database in place.catalog.list_databases():
        seen[database, "database"] = True
        for name in place.catalog.list_tables(database):
            seen |= dict(_of_table(place.catalog.load_table(Identifier.of(database, name)), memory))
        for kind, names, load in _definitions(place):
            seen |= {(f"{database}.{n}", kind): load(Identifier(database, n)) for n in names(database)}
    files = sorted(p.relative_to(root).as_posix() for p in (root / "files").rglob("*") if p.is_file())
    seen["files of others", "names"] = files
    return seen


def _definitions(place: Place) -> Iterator[tuple[str, Callable[[str], list[str]], Callable[[Identifier], Any]]]:
    """Yield the objects with a definition but without files: their kind, their names in a database, and their
    definition.
    """
    yield "view", place.catalog.list_views, place.catalog.load_view
    yield "function", place.catalog.list_functions, place.catalog.load_function


def _of_table(table: Table, memory: Memory) -> Iterator[tuple[Part, Any]]:
    schema, root = table.schema, Path(table.store.root)
    columns = [(f.name, f.type, f.description) for f in schema.fields]
    yield (table.name, "schema"), (columns, schema.options, schema.comment)
    yield (table.name, "done"), sorted(p.parent.name for p in root.rglob("_SUCCESS"))
    if is_format_table(schema.options):
        for row in format_rows(FormatTable.of(table.store)):
            yield (table.name, f"row {row}"), True
        return
    if is_object_table(schema.options):
        yield (table.name, "rows"), ObjectTable.of(table.store, {}).read().to_pylist()
        return
    for consumer, number in list_consumers(table.store).items():
        yield (table.name, f"consumer {consumer}"), number
    yield from _of_branch(table, memory)
    for name in branch_names(table.store):
        with suppress(BranchNotFoundError):  # the version is half made or half deleted: it counts as missing
            yield from _of_branch(Table(open_branch(table.store, name)), memory)


def _of_branch(table: Table, memory: Memory) -> Iterator[tuple[Part, Any]]:
    name, store = table.name, table.store
    snapshots = list_snapshots(store)
    latest = snapshots[-1] if snapshots else None
    yield (name, "rows"), memory.rows_of(table, latest)
    yield (name, "snapshots"), {s.id: (s.commit_kind, memory.rows_of(table.at(s), s)) for s in snapshots}
    yield (name, "changelogs"), changelog_ids(store)
    yield (name, "statistics"), table.statistics(latest) is not None
    for tag in list_tags(store):
        yield (name, f"tag {tag.name}"), (memory.rows_of(table.at(tag.snapshot), tag.snapshot), tag.retained)
    live = [(e.partition, e.bucket, e.file) for e in live_files(store, latest).values()]
    files = sorted((partition, bucket, f.level, f.row_count, _is_indexed(f)) for partition, bucket, f in live)
    indexes = sorted((e.partition, e.bucket, e.file.index_type) for e in index_entries(store, latest))
    yield (name, "files"), (files, indexes)


def _is_indexed(file: DataFileMeta) -> bool:
    return bool(file.extra_files) or file.embedded_file_index is not None


def clean(root: Path) -> list[str]:
    """Expire all versions but the latest of each table, and remove orphans. Return the files that remain although
    nothing names them.
    """
    place, left = Place(root), list[str]()
    for database in place.catalog.list_databases():
        for name in place.catalog.list_tables(database):
            store = place.catalog.load_table(Identifier.of(database, name)).store
            if is_format_table(store.schema.options) or is_object_table(store.schema.options):
                continue
            _expire(store)
            remove_orphans(store, FOREVER)
            left += find_orphans(store, FOREVER).paths
    return left


def _expire(store: TableStore) -> None:
    one = Retention(least=1, most=1, older_than=FOREVER, limit=1000)
    expire_snapshots(store, one, FOREVER)
    expire_changelogs(store, one)
