"""Files that an unreadable tag may keep: a tag that is damaged, or of a later version.

A tag names manifest lists, an index manifest and statistics, and these stay as long as the tag does. So every file that
such a tag keeps is in the folders of manifests and of statistics, or a manifest in these folders names it. All of these
files stay. Other orphans, such as the data files of a writer that died before it wrote a manifest, are deleted as
usual.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from paimon_core.io.file_io import is_temporary
from paimon_core.maintenance.references import NeededFiles
from paimon_core.spec.index_manifest import ENTRY_VERSION, INDEX_MANIFEST_ENTRY
from paimon_core.spec.manifest import SIDECAR
from paimon_core.store.indexes.index_files import index_path
from paimon_core.store.manifests import read_columns
from paimon_core.store.record_files import read_records
from paimon_core.store.table_store import TableStore

_MANIFEST, _LIST, _INDEX = "manifest-", "manifest-list-", "index-manifest-"


def manifests_on_disk(store: TableStore) -> list[str]:
    """Return the names of the manifests of data files in the table's folder, even if they are not in any version."""
    names = _names(store, store.paths.manifest_dir)
    return [n for n in names if n.startswith(_MANIFEST) and not n.startswith(_LIST) and not n.endswith(SIDECAR)]


def metadata_on_disk(store: TableStore) -> Iterator[str]:
    """Yield the paths of all manifests, lists and statistics in the table's folder, and of the index files in index
    manifests.

    Raises `UnreadableFileError` if an index manifest cannot be read.
    """
    for folder in (store.paths.manifest_dir, store.paths.statistics_dir):
        yield from (f"{folder}/{name}" for name in _names(store, folder))
    for name in _names(store, store.paths.manifest_dir):
        if name.startswith(_INDEX):
            for entry in read_records(store, INDEX_MANIFEST_ENTRY, ENTRY_VERSION, store.paths.manifest(name)):
                yield index_path(store, entry.partition, entry.bucket, entry.file)


def possibly_needed(store: TableStore) -> Iterator[str]:
    """Yield the paths that an unreadable tag may keep. Raises `UnreadableFileError` if a manifest cannot be read."""
    yield from metadata_on_disk(store)
    needed = NeededFiles()
    for name in manifests_on_disk(store):
        columns = read_columns(store, name)
        yield from needed.paths(store, partial(columns.locations, np.arange(len(columns))))


def _names(store: TableStore, folder: str) -> list[str]:
    return sorted(f.name for f in store.io.list(folder) if not f.is_dir and not is_temporary(f.name))
