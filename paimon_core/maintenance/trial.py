"""Trials: an operation that removes versions runs on a storage in memory over the table's own.

So a dry run deletes by the same code as the operation itself, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.io.scratch import ScratchFileIO
from paimon_core.metrics import Metrics
from paimon_core.options import DISABLED, ICEBERG_STORAGE
from paimon_core.seen_conflicts import SeenConflicts
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.store.branches import branch_names
from paimon_core.store.cache import CAPACITY
from paimon_core.store.changelogs import changelog_ids
from paimon_core.store.consumers import consumer_files
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import tag_names

_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Removal:
    """The effect of an operation: the versions that it removes, in words, and the files that it deletes, with their
    bytes. `leaving` files would no longer belong to the latest version, `returning` files would belong to it again.
    """

    said: str
    files: int
    size: int
    leaving: tuple[ManifestEntry, ...] = ()
    returning: tuple[ManifestEntry, ...] = ()


def tried(store: TableStore, operation: Callable[[TableStore], object], *, with_rows: bool = False) -> Removal:
    """Run an operation on a copy of a table in memory. Raises the errors of the operation.

    `with_rows` compares the data files of the latest version before and after, which reads all manifests.
    """
    storage = ScratchFileIO(store.io)
    copy = replace(
        store,
        io=storage,
        cache=store.cache.another(CAPACITY),
        watcher=None,
        iceberg_catalogs=None,
        metrics=Metrics(),
        conflicts=SeenConflicts(),
        options=store.options.merged({ICEBERG_STORAGE.key: DISABLED}),
    )
    before = _versions(store)
    operation(copy)
    files, size = storage.deleted()
    said = _said(before, _versions(copy))
    if not with_rows:
        return Removal(said, files, size)
    old, new = (live_files(each, latest_snapshot(each)) for each in (store, copy))
    leaving = tuple(entry for key, entry in old.items() if key not in new)
    return Removal(said, files, size, leaving, tuple(entry for key, entry in new.items() if key not in old))


def _versions(store: TableStore) -> dict[str, Sequence[int] | Sequence[str]]:
    """Return the versions and consumers of a table or branch, by their kind."""
    return {
        "snapshot": snapshot_ids(store),
        "changelog": changelog_ids(store),
        "tag": sorted(tag_names(store)),
        "branch": () if store.branch else branch_names(store),
        "consumer": list(consumer_files(store)),
    }


def _said(before: dict[str, Sequence[int] | Sequence[str]], after: dict[str, Sequence[int] | Sequence[str]]) -> str:
    parts = []
    for kind, found in before.items():
        gone = [each for each in found if each not in set(after[kind])]
        if gone:
            numbers = [each for each in gone if isinstance(each, int)]
            names = [each for each in gone if isinstance(each, str)]
            parts.append(f"{_plural(kind, len(gone))} {_ranges(numbers) if numbers else _some(names)}")
    return f"removes {'; '.join(parts)}" if parts else "removes no version"


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 else "branches" if kind == "branch" else f"{kind}s"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as "1 to 3, 5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return _some([str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs])
