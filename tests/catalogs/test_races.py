"""Many at the same time on one name: one winner each, and names, rows and folders that agree in the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paimon_core.errors import DatabaseExistsError, TableExistsError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SupportsViews
from tests.catalogs.kinds import SCHEMA, Place
from tests.support.waiting import PATIENCE

_ROOT = Path(__file__).parents[2]
_SECONDS = float(os.environ.get("PAIMON_SQL_CATALOG_RACES", "3"))


def test_one_of_many_creates(place: Place) -> None:
    def create_database(n: int) -> bool:
        try:
            place.catalog().create_database("db")
        except DatabaseExistsError:
            return False
        return True

    def create_table(n: int) -> bool:
        try:
            place.catalog().create_table(Identifier("db", "t"), SCHEMA)
        except TableExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create_database, range(16))) == 1
        assert sum(pool.map(create_table, range(16))) == 1
    assert place.catalog().list_tables("db") == ["t"]


def test_names_of_two_processes(place: Place) -> None:
    """Whoever was told that a table was created, moved or dropped was told the truth: the numbers add up."""
    catalog = place.catalog()
    catalog.create_database("db")
    seconds = _SECONDS * (4 if place.kind in ("hive", "rest") else 1)  # whose servers do less in that time
    command = [sys.executable, "-m", "tests.catalogs.racing", json.dumps(dict(place.options))]
    running = [
        subprocess.Popen([*command, str(seed), str(seconds)], stdout=subprocess.PIPE, cwd=_ROOT, text=True)
        for seed in range(2)
    ]
    answers = [process.communicate(timeout=seconds + 2 * PATIENCE)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    each: list[dict[str, int]] = [json.loads(answer) for answer in answers]
    assert all(min(successes.values()) > 0 for successes in each), each
    done = sum(map(Counter, each), Counter())
    left = catalog.list_tables("db")
    assert done["create"] - done["drop"] == len(left), (done, left)
    assert place.folders() == {f"db/{name}" for name in left}
    views = catalog.list_views("db") if isinstance(catalog, SupportsViews) else []
    assert done["create view"] - done["drop view"] == len(views), (done, views)
    assert not set(views) & set(left), done
    for name in left:
        assert catalog.load_table(Identifier("db", name)).schema.fields == SCHEMA.fields
