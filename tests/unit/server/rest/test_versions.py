"""Snapshots that clients want to be published: those that nobody could read are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidDataError, NotFoundError
from paimon_core.spec.snapshot import encode_snapshot
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_sql.catalog.load import load_catalog
from paimon_sql.server.rest.calls import RestCall
from paimon_sql.server.rest.versions import commit, get_tag, get_version
from tests.support.stored import T, create_table, insert, read

Change = Callable[[dict[str, Any]], object]


def asked(warehouse: Path, change: Change) -> dict[str, Any]:
    """The latest snapshot as the next one of another writer, changed."""
    latest = latest_snapshot(load_catalog({"warehouse": str(warehouse)}).load_table(T).store)
    assert latest is not None
    node: dict[str, Any] = json.loads(encode_snapshot(replace(latest, id=latest.id + 1, uuid="another")))
    change(node)
    return node


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda node: node.update(baseManifestList="manifest-list-x-0"), "no such file"),
        (lambda node: node.update(deltaManifestList="manifest-list-x-1"), "no such file"),
        (lambda node: node.update(changelogManifestList="manifest-list-x-2"), "no such file"),
        (lambda node: node.update(indexManifest="index-manifest-x-0"), "no such file"),
        (lambda node: node.update(timeMillis=2**62), "cannot have the time"),
        (lambda node: node.update(timeMillis=-1), "cannot have the time"),
        (lambda node: node.update(timeMillis=node["timeMillis"] + 10**9), "cannot have the time"),
        (lambda node: node.update(commitIdentifier=2**64), "64 bits"),
        (lambda node: node.update(watermark=-(2**64)), "64 bits"),
    ],
)
def test_what_nobody_could_read_is_not_published(tmp_path: Path, change: Change, says: str) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    catalog = load_catalog({"warehouse": str(tmp_path)})
    with pytest.raises(InvalidDataError, match=says):
        commit(catalog, RestCall(("default", "t"), {}, {"snapshot": asked(tmp_path, change)}))
    assert snapshot_ids(table.store) == [1] and read(table) == [(1, "a")]


def test_what_can_be_read_is(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    call = RestCall(("default", "t"), {}, {"snapshot": asked(tmp_path, lambda node: node.update(watermark=-(2**63)))})
    catalog = load_catalog({"warehouse": str(tmp_path)})
    assert commit(catalog, call) == {"success": True} and snapshot_ids(table.store) == [1, 2]
    assert commit(catalog, call) == {"success": True}, "a request that comes again"


@pytest.mark.parametrize("version", ["9" * 5000, "x" * 300, "../snapshot/snapshot-1"])
def test_a_version_that_cannot_exist_is_not_found(tmp_path: Path, version: str) -> None:
    insert(create_table(str(tmp_path)), [(1, "a")])
    for ask in (get_version, get_tag):
        with pytest.raises(NotFoundError):
            ask(load_catalog({"warehouse": str(tmp_path)}), RestCall(("default", "t", version), {}, {}))
