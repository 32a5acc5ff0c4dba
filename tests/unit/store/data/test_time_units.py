"""Which columns a reader of microseconds gets in microseconds."""

from __future__ import annotations

from pathlib import Path

from paimon_core.arrow.types import STORED_TIME, arrow_type
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import (
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
    RowType,
    TimeType,
)
from paimon_core.store.data.time_units import as_stored_times, in_microseconds
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore

NANOS, LOCAL = TimeType(Kind.TIMESTAMP, precision=9), TimeType(Kind.TIMESTAMP_LTZ, precision=7)
ROW = RowType(fields=(DataField(id=0, name="t", type=NANOS), DataField(id=1, name="n", type=STRING)))
TYPES: dict[str, DataType] = {
    **dict.fromkeys(("key", "part", "sequence", "time", "group"), NANOS),
    "local": LOCAL,
    "milli": TimeType(Kind.TIMESTAMP, precision=3),
    "nested": CollectionType(Kind.ARRAY, element=MapType(key=STRING, value=ROW)),
}
OPTIONS = {"primary-key": "key,part", "partition": "part", "merge-engine": "partial-update"}


def store_of(root: Path, **options: str) -> TableStore:
    fields = [DataField(id=0, name=n, type=t) for n, t in TYPES.items()]
    schema = new_table_schema(fields, options={**OPTIONS, **{k.replace("_", "."): v for k, v in options.items()}})
    assert create_schema(LocalFileIO(), str(root), schema)
    return TableStore.of(LocalFileIO(), str(root), schema)


def test_columns_that_decide_between_rows_keep_their_digits(tmp_path: Path) -> None:
    store = store_of(tmp_path, sequence_field="sequence", **{"fields.group.sequence-group": "time"})
    coarse = in_microseconds(store)
    changed = {f.name: f.type.sql() for f in coarse.schema.fields if f not in store.schema.fields}
    assert changed.keys() == {"time", "local", "nested"}
    assert changed["local"] == "TIMESTAMP(6) WITH LOCAL TIME ZONE"
    assert changed["nested"] == store.schema.field_by_name["nested"].type.sql().replace("TIMESTAMP(9)", "TIMESTAMP(6)")
    assert in_microseconds(coarse) is coarse


def test_writers_pass_on_what_decides_nothing(tmp_path: Path) -> None:
    named = {"sequence_field": "sequence", "fields.group.sequence-group": "time", "fields.local.stats-mode": "none"}
    store = store_of(tmp_path / "t", **named)
    stored = as_stored_times(store).schema
    assert {f.name for f in stored.fields if f not in store.schema.fields} == {"time", "nested"}
    assert arrow_type(stored.field_by_name["time"].type) == STORED_TIME
    for option in ("changelog-file_format", "file_format"):
        assert as_stored_times(other := store_of(tmp_path / option, **{option: "orc"})) is other
