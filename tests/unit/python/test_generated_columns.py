"""Generated columns in rows that Python writes, compared with plain Python."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.store.ddl.generated_columns import GeneratedColumn
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema(
    [("id", pa.int32()), ("ts", pa.timestamp("us")), ("dt", pa.date32()), ("up", pa.string()), ("note", pa.string())]
)
DAY = GeneratedColumn("dt", "CAST(ts AS DATE)", ("ts",))
UPPER = GeneratedColumn("up", "upper(note)", ("note",))
KINDS: dict[str, dict[str, Any]] = {
    "append": {"partitioned_by": "dt"},
    "keyed": {"primary_key": "id", "options": {"bucket": "1"}},
    "crossed": {"primary_key": "id", "partitioned_by": "dt"},
    "evolved": {"options": {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}},
}
TS = datetime(2024, 3, 5, 12)


def created(root: Path, kind: str, *made: GeneratedColumn) -> PaimonTable:
    about = KINDS[kind]
    options = about.get("options", {}) | {g.key: g.value for g in made}
    return open_catalog(str(root)).create_table("default.t", SCHEMA, **about | {"options": options})


def rows(table: PaimonTable) -> list[Any]:
    found = table.scan().to_arrow().select(["id", "ts", "dt", "up"]).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_made_and_checked(kind: str, tmp_path: Path) -> None:
    table = created(tmp_path, kind, DAY, UPPER)
    write = table.upsert if "primary_key" in KINDS[kind] else table.append
    write([{"id": 1, "ts": TS, "note": "a"}, {"id": 2, "ts": None, "note": None}])
    write([{"id": 3, "ts": TS, "dt": date(2024, 3, 5), "up": None, "note": "b"}])
    first, third = (1, TS, date(2024, 3, 5), "A"), (3, TS, date(2024, 3, 5), "B")
    assert rows(table) == [first, (2, None, None, None), third]
    for wrong in ({"dt": date(2024, 3, 6)}, {"up": "b"}):
        with pytest.raises(InvalidDataError, match="violates the constraint 'of generated column"):
            write([{"id": 4, "ts": TS, "note": "b"} | wrong])
    later = TS + timedelta(days=1)
    table.update({"ts": "TIMESTAMP_NTZ '2024-03-06 12:00:00'"}, where="id = 1")
    table.update({"note": "'z'", "up": None}, where="id = 3")
    changed = [(1, later, date(2024, 3, 6), "A"), (2, None, None, None), (*third[:3], "Z")]
    assert rows(table) == changed
    with pytest.raises(InvalidDataError, match="violates the constraint 'of generated column dt'"):
        table.update({"dt": date(2024, 1, 1)}, where="id = 1")
    assert rows(table) == changed
    assert table.scan(where="ts >= TIMESTAMP_NTZ '2024-03-06 00:00:00'").to_arrow()["id"].to_pylist() == [1]
    table.merge(
        [{"id": 1, "ts": TS, "note": "m"}, {"id": 7, "ts": TS, "note": "n"}],
        on="id",
        when_matched={"ts": "source.ts"},
        when_not_matched={"id": "source.id", "ts": "source.ts", "note": "source.note"},
    )
    assert rows(table) == [first, *changed[1:], (7, TS, date(2024, 3, 5), "N")]
    table.merge([{"id": 7, "ts": later, "note": "o"}], on="id", when_matched="update", when_not_matched="insert")
    assert rows(table)[-1] == (7, later, date(2024, 3, 6), "O")
    table.overwrite([{"id": 9, "ts": TS, "note": "q"}])
    assert rows(table) == [(9, TS, date(2024, 3, 5), "Q")]


def test_a_planned_write_makes_values(tmp_path: Path) -> None:
    write = created(tmp_path, "append", DAY).plan_write()
    write.commit([write.write([{"id": 1, "ts": TS}])])
    assert rows(open_catalog(str(tmp_path)).table("default.t")) == [(1, TS, date(2024, 3, 5), None)]


def test_an_expression_that_needs_spark(tmp_path: Path) -> None:
    table = created(tmp_path, "append", GeneratedColumn("up", "soundex(note)", ("note",)))
    with pytest.raises(UnsupportedFeatureError, match="cannot be written without Spark: .*'up'"):
        table.append([{"id": 1}])
    with pytest.raises(InvalidOptionError, match="write GENERATED ALWAYS AS"):
        table.alter(options={DAY.key: DAY.value})


def test_filters_skip_partitions(tmp_path: Path) -> None:
    table = created(tmp_path, "append", DAY)
    table = table.alter(options={"metadata.stats-mode": "none"})
    table.append([{"id": i, "ts": TS + timedelta(days=i)} for i in range(10)])
    scan = table.scan(where="ts < TIMESTAMP_NTZ '2024-03-07 00:00:00'")
    assert "files 2/10" in scan.explain()
    assert "files 10/10" in table.scan(where="id >= 0").explain()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [0, 1]
