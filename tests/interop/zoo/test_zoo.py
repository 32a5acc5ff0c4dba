"""Every table of the zoo is read as its writer reads it, and goes on here, without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit import other_writers
from paimon_core.errors import UnsupportedFeatureError
from tests.interop.zoo.continued import Continued
from tests.interop.zoo.fixtures import DATABASE, expected, unpack, writers
from tests.interop.zoo.followed import Followed
from tests.interop.zoo.values import comparable, in_order

# tables whose files count equal rows: they are read, and not written
_COUNTED = {"java-0.4.0": "app_changelog", "java-0.5.0": "app_changelog"}
# pypaimon 1.3.2 has another hash of the bucket key: a filter on it looks into another bucket, in Java 2.0.0 as well
_OTHER_HASH = {"pypaimon-1.3.2": ("app_bucket_key", "pk_parquet", "pk_orc", "pk_avro")}
_FIRST, _SECOND = 100_001, 100_002
_THERE = ("+I", "+U")  # kinds of changes


def _cases(*, written: bool) -> list[Any]:
    tables = ((writer, name) for writer in writers() for name in expected(writer)["tables"])
    chosen = (case for case in tables if not (written and _COUNTED.get(case[0]) == case[1]))
    return [pytest.param(writer, name, id=f"{writer}-{name}") for writer, name in chosen]


@pytest.fixture
def continued(tmp_path: Path, writer: str, name: str, monkeypatch: pytest.MonkeyPatch) -> Continued:
    monkeypatch.setattr(other_writers, "_LOOK_AFTER", 0)  # nobody else writes now
    unpack(writer, [name], tmp_path / f"{DATABASE}.db")
    return Continued(tmp_path, name)


@pytest.mark.parametrize(("writer", "name"), _cases(written=False))
def test_rows_are_those_that_the_writer_reads(continued: Continued, writer: str, name: str) -> None:
    known = expected(writer)["tables"][name]
    assert [f.name for f in continued.table.schema.fields] == known["columns"]
    _check_versions(continued, name, known, snapshots=True)
    _check_filters(continued, writer, name)
    continued.check_system_tables({**known["snapshots"], **known["tags"]}, known["branches"])
    assert continued.read_changes() >= 0


@pytest.mark.parametrize(("writer", "name"), _COUNTED.items())
def test_a_table_that_counts_rows_is_refused_by_writers_and_kept_by_upkeep(
    continued: Continued, writer: str, name: str
) -> None:
    rows = expected(writer)["tables"][name]["latest"]
    with pytest.raises(UnsupportedFeatureError, match="its files count equal rows"):
        continued.insert(continued.like(_FIRST))
    continued.add_column("zoo_added")
    continued.expire()
    continued.remove_orphans()
    assert continued.rows() == in_order([*row, None] for row in rows)


@pytest.mark.parametrize(("writer", "name"), _cases(written=True))
def test_the_table_goes_on(continued: Continued, writer: str, name: str) -> None:
    known = expected(writer)["tables"][name]
    rows = continued.rows()
    assert comparable(name, rows) == comparable(name, known["latest"])
    followed = Followed(continued.table)
    assert in_order(row for kind, *row in followed.read() if kind in _THERE) == rows
    rows = _changed(continued, rows) if continued.takes_changes else _inserted(continued, rows)
    continued.compact()
    assert continued.rows() == rows
    (new,) = [row for row in rows if row[0] == _FIRST]
    assert [row for kind, *row in followed.read() if row[0] == _FIRST and kind in _THERE][-1] == new
    followed.end()
    continued.add_column("zoo_added")
    assert continued.rows() == in_order([*row, None] for row in rows)
    more = continued.like(_SECOND)
    continued.insert(more)
    continued.compact()
    rows = continued.rows()
    assert [r[0] for r in rows].count(_SECOND) == 1
    continued.expire()
    continued.remove_orphans()
    assert continued.rows() == rows
    assert continued.remove_orphans() == ()
    _check_versions(continued, name, {**known, "latest": rows}, snapshots=False)
    _check_filters(continued, writer, name)


def _check_filters(continued: Continued, writer: str, name: str) -> None:
    schema = continued.table.schema
    unsure = schema.bucket_keys if name in _OTHER_HASH.get(writer, ()) else ()
    continued.check_filters(f.name for f in schema.fields if f.name not in unsure)


def _check_versions(continued: Continued, name: str, known: dict[str, Any], *, snapshots: bool) -> None:
    assert comparable(name, continued.rows()) == comparable(name, known["latest"])
    versions = {**known["tags"], **(known["snapshots"] if snapshots else {})}
    found = {version: comparable(name, continued.rows(version)) for version in versions}
    assert found == {version: comparable(name, rows) for version, rows in versions.items()}
    found = {branch: comparable(name, continued.rows(branch=branch)) for branch in known["branches"]}
    assert found == {branch: comparable(name, rows) for branch, rows in known["branches"].items()}


def _changed(continued: Continued, rows: list[Any]) -> list[Any]:
    """Insert, update, merge and delete; the rows that remain."""
    continued.insert(continued.like(_FIRST))
    (new,) = [row for row in continued.rows() if row[0] == _FIRST]
    assert continued.rows() == in_order([*rows, new])
    column = continued.updated_column()
    if column is not None:
        continued.update(_FIRST)
        new[continued.table.schema.fields.index(column)] = None
        assert continued.rows() == in_order([*rows, new])
        continued.insert(continued.like(_SECOND))
        continued.merge(_FIRST, _SECOND)
        assert continued.rows() == in_order([*rows, new])
    continued.delete(_FIRST)
    assert continued.rows() == rows
    continued.insert(continued.like(_FIRST))
    return continued.rows()


def _inserted(continued: Continued, rows: list[Any]) -> list[Any]:
    """Insert a row of a new key; the rows then."""
    continued.insert(continued.like(_FIRST))
    continued.compact()
    found = continued.rows()
    assert [row for row in found if row[0] != _FIRST] == rows and len(found) == len(rows) + 1
    return found
