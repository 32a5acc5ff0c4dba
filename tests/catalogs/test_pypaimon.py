"""pypaimon, Paimon's own library for Python, as a client of our REST server: `make campaign NAME=pypaimon`.

It stands in an environment of its own, whose Python PAIMON_SQL_PYPAIMON names.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import SCHEMA
from tests.support.rest_server import RestServer
from tests.support.stored import insert, read

PYPAIMON = os.environ.get("PAIMON_SQL_PYPAIMON")
pytestmark = pytest.mark.skipif(PYPAIMON is None, reason="no PAIMON_SQL_PYPAIMON: make campaign NAME=pypaimon")

# prints what it finds, as JSON
_CLIENT = """
import json, sys
import pyarrow as pa
from pypaimon import CatalogFactory, Schema

catalog = CatalogFactory.create(json.loads(sys.argv[1]))

def rows(name):
    builder = catalog.get_table(name).new_read_builder()
    found = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return sorted(map(list, zip(*found.to_pydict().values())))

columns = pa.schema([("k", pa.int32()), ("v", pa.string())])
catalog.create_database("made", True)
catalog.create_table("made.t", Schema.from_pyarrow_schema(columns, primary_keys=["k"], options={"bucket": "1"}), False)
for name in ("made.t", "db.ours"):
    builder = catalog.get_table(name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.table({"k": [1, 2], "v": ["a", "b"]}, schema=columns))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
listed = [sorted(catalog.list_databases()), sorted(catalog.list_tables("db"))]
print(json.dumps([*listed, rows("made.t"), rows("db.ours")]))
"""


def run(options: dict[str, str]) -> subprocess.CompletedProcess[str]:
    assert PYPAIMON is not None
    words = [PYPAIMON, "-c", _CLIENT, json.dumps({**options, "warehouse": "any", "token.provider": "bear"})]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def test_pypaimon_at_our_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lists in pages, creates, writes, reads and commits; and what it commits is the server's."""
    monkeypatch.setattr("paimon_sql.server.rest.calls.MOST_RESULTS", 2)
    behind: Any = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "wh")})
    behind.create_database("db")
    for name in ("ours", "a", "b", "c"):
        behind.create_table(Identifier("db", name), SCHEMA)
    ours = Identifier("db", "ours")
    insert(behind.load_table(ours), [(2, "old"), (7, "x")])
    with RestServer.over(behind, tmp_path / "tokens") as server:
        done = run(server.options("writer"))
        assert done.returncode == 0, done.stderr
        made = [[1, "a"], [2, "b"]]
        assert json.loads(done.stdout) == [["db", "default", "made"], ["a", "b", "c", "ours"], made, [*made, [7, "x"]]]
        refused = run(server.options("reader"))
        assert refused.returncode != 0 and "may only read" in refused.stderr
    assert sorted(read(behind.load_table(Identifier("made", "t")))) == [(1, "a"), (2, "b")]
    assert sorted(read(behind.load_table(ours))) == [(1, "a"), (2, "b"), (7, "x")]
    behind.close()
