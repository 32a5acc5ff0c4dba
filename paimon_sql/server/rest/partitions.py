"""The partitions of a table. They follow from its files, so requests cannot create or drop them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.maintenance.done_partitions import mark_done
from paimon_core.spec.json_object import member, text_map
from paimon_core.spec.manifest import ManifestEntry, created_millis
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.server.rest.calls import Node, RestCall, Routes, next_page, page


def list_partitions(catalog: SupportsDatabases, call: RestCall) -> Node:
    found = _partitions(catalog.load_table(call.identifier))
    listed = page(call, "partitions", sorted(found), "partitionNamePattern")
    return {**listed, "partitions": [found[name] for name in listed["partitions"]]}


def list_by_names(catalog: SupportsDatabases, call: RestCall) -> Node:
    found, specs = _partitions(catalog.load_table(call.identifier)), _specs(call)
    return {"partitions": [p for p in found.values() if p["spec"] in specs], **next_page(None)}


def mark(catalog: SupportsDatabases, call: RestCall) -> None:
    mark_done(catalog.load_table(call.identifier).store, _specs(call))


def not_kept(catalog: SupportsDatabases, call: RestCall) -> None:
    raise UnsupportedFeatureError(
        "Partitions of a Paimon table cannot be created or dropped on their own: write rows to them, or delete rows."
    )


def _partitions(table: Table) -> dict[str, dict[str, Any]]:
    """Return the API's description of each partition, by its name `k=v/k2=v2`."""
    store = table.store
    groups: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in live_files(store, table.latest_snapshot()).values():
        groups[entry.partition].append(entry)
    specs = ((store.partition_spec(partition), entries) for partition, entries in groups.items())
    return {"/".join(f"{k}={v}" for k, v in spec.items()): _describe(spec, entries) for spec, entries in specs}


def _describe(spec: dict[str, str], entries: Sequence[ManifestEntry]) -> dict[str, Any]:
    files = [e.file for e in entries]
    times = [made for f in files if (made := created_millis(f)) is not None]
    return {
        "spec": spec,
        "recordCount": sum(f.row_count for f in files),
        "fileSizeInBytes": sum(f.file_size for f in files),
        "fileCount": len(files),
        "lastFileCreationTime": max(times, default=0),
        "totalBuckets": entries[0].total_buckets,
        "done": False,
    }


def _specs(call: RestCall) -> list[dict[str, str]]:
    return [text_map({"spec": spec}, "spec") for spec in member(call.body, "specs", list)]


_TABLE = "databases/*/tables/*"
ROUTES: Routes = {
    ("GET", f"{_TABLE}/partitions"): list_partitions,
    ("POST", f"{_TABLE}/partitions"): not_kept,
    ("POST", f"{_TABLE}/partitions/drop"): not_kept,
    ("POST", f"{_TABLE}/partitions/mark"): mark,
    ("POST", f"{_TABLE}/partitions/list-by-names"): list_by_names,
}
