"""Processes that commit to one table through a proxy that harms requests: no row is lost and none is doubled.

PAIMON_SQL_STORAGE_COMMITS is PROCESSESxCOMMITS; `make campaign NAME=storage-commits` sets 8x50, and adds servers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from paimon_core.io.objects.store import _proof
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import SCHEMA
from tests.storages.test_object_stores import SERVERS
from tests.storages.writers import T
from tests.support import storage_servers
from tests.support.faulty_proxy import FAULTS, faulty_proxy
from tests.support.remote_storage import RemoteStorage
from tests.support.storage_servers import Storage
from tests.support.stored import read

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
_ROOT = Path(__file__).parents[2]
_PROCESSES, _COMMITS = map(int, os.environ.get("PAIMON_SQL_STORAGE_COMMITS", "2x3").split("x"))
WAYS: Mapping[str, Mapping[str, float]] = {
    "none": {},
    "creates postponed": {"creates postponed": 0.5},
    "busy": {"busy": 0.2},
    "answers lost": {"done, but lost": 0.1, "done, but broken": 0.1},
    "all": FAULTS,
    "all with keys": FAULTS,
    "creates unanswered": {"creates done, but lost": 0.4},
    "creates broken": {"creates done, but broken": 0.4},
    "creates busy": {"creates busy": 0.2},
    "cuts": {"unsent": 0.03, "cut": 0.03, "done, but lost": 0.03},
}
KEYED = {  # a row of a commit that is made twice has the value "v,v"
    "primary-key": "k", "bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"
}  # fmt: skip
ENDPOINTS = ("s3.endpoint", "fs.oss.endpoint", "fs.azure.endpoint", "fs.gs.storage.root.url")
ENDPOINTS += ("fs.obs.endpoint", "fs.cosn.bucket.endpoint_suffix")
STORAGES = {**SERVERS, "model of GCS": (storage_servers.model("gs"), "")}


@pytest.fixture(scope="module", params=[*STORAGES, "hdfs"])
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    if request.param == "hdfs":
        given = RemoteStorage.given()
        if given is None or not given.root.startswith("hdfs:"):
            pytest.skip("no HDFS: make campaign NAME=storage-commits")
        yield Storage(given.warehouse()["warehouse"], given.options, {})
        return
    start, variable = STORAGES[request.param]
    if variable and variable not in os.environ:
        pytest.skip(f"no {variable}: make campaign NAME=storage-commits")
    _proof.cache_clear()
    with start(tmp_path_factory.mktemp("storage") / "server") as found:
        yield found


@pytest.mark.parametrize("way", WAYS)
def test_no_commit_is_lost_or_doubled(storage: Storage, way: str) -> None:
    faults, began = WAYS[way], time.monotonic()
    if faults and storage.root.startswith("hdfs:"):
        pytest.skip("the proxy speaks HTTP")
    options = {**storage.options, "warehouse": f"{storage.root}/{way.replace(' ', '-')}"}
    catalog = load_catalog(options)
    chosen = KEYED if way == "all with keys" else {}
    catalog.create_table(T, new_table_schema(SCHEMA.fields, options={"commit.max-retries": "1000", **chosen}))
    with ExitStack() as stack:
        writers = []
        for number in range(_PROCESSES):
            words = [json.dumps(harmed(options, faults, stack, number)), str(number * _COMMITS), str(_COMMITS)]
            writers.append(stack.enter_context(started(words)))
        said = [writer.communicate(timeout=3600) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * _PROCESSES, said
    outcomes, errors = defaultdict[str, set[int]](set), []
    for line in "".join(output for output, _ in said).splitlines():
        outcome, k, error = json.loads(line)
        outcomes[outcome].add(k)
        errors += [error] if error else []
    found = read(catalog.load_table(T))
    rows = Counter(k for k, _ in found)
    seconds, counts = time.monotonic() - began, {outcome: len(keys) for outcome, keys in outcomes.items()}
    sys.stdout.write(f"{storage.root}, {way}: {counts} in {seconds:.0f} s {errors[:2]}\n")
    assert outcomes["acknowledged"] <= rows.keys(), "lost"
    assert [k for k, times in rows.items() if times > 1] == [k for k, v in found if v != "v"] == [], "doubled"
    assert outcomes["failed"].isdisjoint(rows), "failed, but there"
    assert len(outcomes["acknowledged"]) > _PROCESSES * _COMMITS * 0.9, errors


def started(words: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.storages.writers", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=_ROOT)


def harmed(options: Mapping[str, str], faults: Mapping[str, float], stack: ExitStack, seed: int) -> dict[str, str]:
    """Return the options of a catalog behind a proxy."""
    key = next((key for key in ENDPOINTS if key in options), None)
    if key is None or not faults:
        return dict(options)
    before, _, rest = options[key].partition("://")
    host, _, path = rest.partition("/")
    proxy = stack.enter_context(faulty_proxy(int(host.rpartition(":")[2]), faults, seed))
    return {**options, key: f"{before}://127.0.0.1:{proxy}/{path}".rstrip("/")}
