"""`CALL sys.advise` with readers: each fault has a table that a version misreads, and one that it reads."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance.older_readers import ReadingEngine, readers_of
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import (
    DATE,
    FLOAT,
    INT,
    STRING,
    VARIANT,
    DataField,
    DataType,
    Kind,
    RowType,
    TimeType,
    VectorType,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption
from tests.support import stored
from tests.support.tables import data_file, fields, message
from tests.unit.procedures.test_advice import KEYED, OPTIONS, Lake


def said(lake: Lake, readers: str) -> dict[str, str]:
    """The statements for readers by their facts."""
    return {fact: run for fact, _, run in lake.call("advise", table="t", readers=readers) if fact[0] in "Pp"}


def filled(root: Path, options: dict[str, str]) -> Lake:
    lake = Lake(root, options)
    lake.insert(1, 2, 3)
    return lake


def test_readers() -> None:
    assert readers_of("paimon 0.7,  PyPaimon 1.4.2") == (
        ReadingEngine("Paimon", (0, 7)),
        ReadingEngine("pypaimon", (1, 4, 2)),
    )
    assert str(readers_of("pypaimon 2.0.0")[0]) == "pypaimon 2.0.0"


@pytest.mark.parametrize("text", ["", "Paimon", "Paimon 1", "Spark 4.0", "Paimon 0.7;", "Paimon 0.7,", "Paimon 9" * 99])
def test_what_is_not_a_reader(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="is not a valid reader"):
        readers_of(text)


def test_readers_of_every_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path, OPTIONS)
    assert said(lake, "Paimon 0.4, Paimon 0.5.0") == {}, "no commit"
    lake.insert(1)
    found = said(lake, "Paimon 0.4, Paimon 0.5.0")
    assert found == {
        "Paimon 0.4 reads no table after a commit of paimon-sql": "-- upgrade Paimon to 0.6.0 or later",
        "Paimon 0.5.0 reads no table after a commit of paimon-sql": "-- upgrade Paimon to 0.6.0 or later",
    }
    assert said(lake, "Paimon 0.6.0, Paimon 2.0.0, pypaimon 1.3.2, pypaimon 2.1.0") == {}


def test_deletion_vectors(tmp_path: Path) -> None:
    lake = filled(tmp_path, {**OPTIONS, "deletion-vectors.enabled": "true"})
    assert said(lake, "Paimon 0.7.0") == {}
    lake.delete(0)
    assert said(lake, "Paimon 0.8.2, pypaimon 1.3.2") == {}
    found = said(lake, "Paimon 0.7.0")
    assert list(found) == ["Paimon 0.7.0 shows rows that are deleted or replaced"]
    lake.follow(*found.values())
    assert said(lake, "Paimon 0.7.0") == {} and len(stored.read(lake.table)) == 2


@pytest.mark.parametrize(
    ("options", "reader", "is_misread"),
    [
        ({"merge-engine": "first-row"}, "Paimon 0.6.0", True),
        ({"deletion-vectors.enabled": "true"}, "Paimon 0.6.0", True),
        ({"merge-engine": "first-row"}, "Paimon 0.8.2", False),
        ({}, "Paimon 0.6.0", False),
        ({"merge-engine": "aggregation"}, "pypaimon 1.4.2", True),
        ({"merge-engine": "partial-update"}, "pypaimon 1.3.2", True),
        ({"merge-engine": "aggregation"}, "pypaimon 2.0.0", False),
        ({}, "pypaimon 1.3.2", False),
    ],
)
def test_rows_before_a_compaction(tmp_path: Path, options: dict[str, str], reader: str, is_misread: bool) -> None:
    lake = filled(tmp_path, {**KEYED, **options})
    found = said(lake, reader)
    assert len(found) == is_misread
    for statement in found.values():
        lake.follow(statement)
    assert said(lake, reader) == {}


def test_packed_integers(tmp_path: Path) -> None:
    lake = filled(tmp_path, {**OPTIONS, "parquet.writer.version": "v2"})
    found = said(lake, "Paimon 1.0.1, pypaimon 2.1.0")
    assert found == {
        "Paimon 1.0.1 does not read all columns of the Parquet files": (
            "ALTER TABLE paimon.default.t UNSET TBLPROPERTIES ('parquet.writer.version')"
        )
    }
    assert said(lake, "Paimon 2.1.0") == {}
    lake.catalog.alter_table(lake.identifier, [RemoveOption("parquet.writer.version")])
    assert said(lake, "Paimon 1.0.1") == {}


def test_manifests_of_other_formats(tmp_path: Path) -> None:
    lake = filled(tmp_path, {**OPTIONS, "manifest.format": "orc"})
    found = said(lake, "Paimon 2.0.0, Paimon 2.1.0, pypaimon 2.1.0")
    assert found == {
        "Paimon 2.1.0 does not read manifests that are not Avro": (
            "ALTER TABLE paimon.default.t UNSET TBLPROPERTIES ('manifest.format')"
        )
    }
    lake.catalog.alter_table(lake.identifier, [RemoveOption("manifest.format")])
    assert said(lake, "Paimon 2.1.0") == {}


@pytest.mark.parametrize(
    ("key", "legacy", "reader", "is_misread"),
    [
        ("v", "true", "pypaimon 2.0.0", True),
        ("v", "true", "pypaimon 2.1.0", False),
        ("v", "false", "pypaimon 2.0.0", False),
        ("k", "true", "pypaimon 2.0.0", False),
    ],
)
def test_partitions_by_date(tmp_path: Path, key: str, legacy: str, reader: str, is_misread: bool) -> None:
    lake = Lake(tmp_path, OPTIONS)
    options = {"bucket": "-1", "partition": key, "partition.legacy-name": legacy}
    lake.identifier = Identifier("default", "by_date")
    lake.catalog.create_table(lake.identifier, new_table_schema(fields(k=INT, v=DATE), options=options))
    stored.insert(lake.table, [(1, date(2024, 1, 1))])
    rows = lake.call("advise", table="by_date", readers=reader)
    assert [run for _, _, run in rows] == ["-- upgrade pypaimon to 2.1.0 or later"] * is_misread


def test_orc_times_of_several_schemas(tmp_path: Path) -> None:
    lake = Lake(tmp_path, OPTIONS)
    options = {"bucket": "-1", "file.format": "orc"}
    lake.identifier = Identifier("default", "times")
    columns = fields(k=INT, v=TimeType(Kind.TIMESTAMP, True, 6))
    lake.catalog.create_table(lake.identifier, new_table_schema(columns, options=options))
    stored.insert(lake.table, [(1, None)])
    assert lake.call("advise", table="times", readers="pypaimon 1.4.2") == []
    lake.catalog.alter_table(lake.identifier, [AddColumn(("more",), STRING)])
    rows = lake.call("advise", table="times", readers="pypaimon 1.4.2, pypaimon 2.0.0")
    assert [run for _, _, run in rows] == ["-- upgrade pypaimon to 2.0.0 or later"]


BLOB = DataType(Kind.BLOB)
COUNTED = {**KEYED, "merge-engine": "aggregation"}
ROW_IDS = {**OPTIONS, "row-tracking.enabled": "true"}


@pytest.mark.parametrize(
    ("column", "options", "before", "since"),
    [
        ({"p": VARIANT}, OPTIONS, "Paimon 1.0.1, pypaimon 1.4.2", "Paimon 1.1.0, pypaimon 2.0.0"),
        (
            {"p": RowType(fields=(DataField(id=1, name="in", type=VARIANT),))},
            OPTIONS,
            "Paimon 1.0.1, pypaimon 1.4.2",
            "Paimon 1.1.0",
        ),
        (
            {"p": VectorType(FLOAT, 3)},
            {**ROW_IDS, "data-evolution.enabled": "true"},
            "Paimon 1.3.1, pypaimon 1.4.2",
            "Paimon 1.4.1, pypaimon 2.0.0",
        ),
        ({"p": BLOB}, {**ROW_IDS, "data-evolution.enabled": "true"}, "Paimon 1.3.1", "Paimon 1.4.1, pypaimon 1.3.2"),
        ({}, {**ROW_IDS, "data-evolution.enabled": "true"}, "Paimon 1.2.0", "Paimon 1.3.0, pypaimon 1.3.2"),
        ({}, ROW_IDS, "Paimon 1.2.0", "Paimon 1.3.0"),
        ({"p": BLOB}, KEYED, "Paimon 1.4.1", "Paimon 2.0.0, pypaimon 2.1.0"),
        ({"p": BLOB}, {**KEYED, "merge-engine": "partial-update"}, "Paimon 2.0.0", "Paimon 2.1.0"),
        ({"n": INT}, {**COUNTED, "fields.n.aggregate-function": "count"}, "Paimon 2.1.0", "pypaimon 2.1.0"),
        ({"n": INT}, {**COUNTED, "fields.n.aggregate-function": "sum"}, "", "Paimon 2.1.0"),
    ],
    ids=[
        *("variant", "nested variant", "vector", "blob", "data evolution", "row tracking"),
        *("keyed blob", "merged blob", "count", "sum"),
    ],
)
def test_types_and_options_of_later_versions(
    column: dict[str, DataType], options: dict[str, str], before: str, since: str, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, OPTIONS)
    schema = new_table_schema(fields(k=INT, **column), options={"write-only": "true", **options})
    lake.identifier = Identifier("default", "later")
    lake.catalog.create_table(lake.identifier, schema)
    stored.commit(lake.table, [message(lake.table.store, data_file(lake.table.store, 1, 1))], "writer")

    def facts(readers: str) -> set[str]:
        return {fact for fact, *_ in lake.call("advise", table="later", readers=readers) if fact[0] in "Pp"}

    found = {fact.split(" ")[0] for fact in facts(before)} if before else set()
    assert found == {r.split(" ")[0] for r in before.split(", ") if r}
    assert facts(since) == set()
