"""Maps as values that merge engines compare: equal whatever the order of their keys is."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.equality import values_equal
from paimon_core.arrow.types import arrow_type
from paimon_core.spec.types import (
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
)
from paimon_core.write.writer import open_writer
from tests.support.data import files_of, make_batch, make_store, read_rows

NAN = float("nan")
COUNTS = MapType(key=STRING, value=INT)
PAIR = RowType(fields=(DataField(id=20, name="m", type=COUNTS), DataField(id=21, name="s", type=STRING)))
# a type, and its values: the first two are equal
KINDS: dict[str, tuple[DataType, list[Any]]] = {
    "maps in maps": (
        MapType(key=STRING, value=COUNTS),
        [
            [("a", [("x", 1), ("y", 2)]), ("b", None)],
            [("b", None), ("a", [("y", 2), ("x", 1)])],
            [("a", [("x", 1), ("y", 3)]), ("b", None)],
        ],
    ),
    "NaN and zeros": (
        MapType(key=DOUBLE, value=INT),
        [[(NAN, 1), (0.0, 2)], [(0.0, 2), (NAN, 1)], [(NAN, 2), (0.0, 1)], None, []],
    ),
    "NULL values": (COUNTS, [[("a", None), ("b", 1)], [("b", 1), ("a", None)], [("a", 0), ("b", 1)]]),
    "bytes": (
        MapType(key=BYTES, value=BYTES),
        [[(b"\0", b""), (b"", b"\xff")], [(b"", b"\xff"), (b"\0", b"")], [(b"\0", b"\xff"), (b"", b"")]],
    ),
    "dates": (
        MapType(key=DATE, value=DOUBLE),
        [[(date(1, 1, 1), NAN), (date(1970, 1, 1), -0.0)], [(date(1970, 1, 1), -0.0), (date(1, 1, 1), NAN)]],
    ),
    "decimals": (
        MapType(key=DecimalType(precision=38, scale=2), value=COUNTS),
        [
            [(Decimal("1.10"), []), (Decimal("2.00"), None)],
            [(Decimal("2.00"), None), (Decimal("1.10"), [])],
            [(Decimal("1.10"), None), (Decimal("2.00"), [])],
        ],
    ),
    "maps in lists": (
        CollectionType(Kind.ARRAY, element=COUNTS),
        [[[("a", 1), ("b", 2)], None, []], [[("b", 2), ("a", 1)], None, []], [[("a", 1), ("b", 2)], [], None]],
    ),
    "structs in maps": (
        MapType(key=STRING, value=PAIR),
        [
            [("q", {"m": [("a", 1), ("b", 2)], "s": None}), ("z", None)],
            [("z", None), ("q", {"m": [("b", 2), ("a", 1)], "s": None})],
            [("q", {"m": [("a", 1), ("b", 2)], "s": None}), ("z", {"m": None, "s": None})],
        ],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_collect_keeps_each_value_once(tmp_path: Path, kind: str, file_format: str) -> None:
    element, values = KINDS[kind]
    options = {"merge-engine": "aggregation", "file.format": file_format}
    options |= {"fields.a.aggregate-function": "collect", "fields.a.distinct": "true"}
    columns = {"k": INT, "a": CollectionType(Kind.ARRAY, element=element)}
    store = make_store(tmp_path, columns, keys=["k"], bucket="1").with_options(options)
    live = {}
    for number, value in enumerate((*values, values[0])):
        writer = open_writer(store, sequence_start=number)
        writer.write(make_batch(store, [(1, [value])]))
        live = files_of(writer.finish(), live)
    ((_, collected),) = read_rows(store, live)
    assert len(collected) == len(values) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_equal_in_any_order_of_keys(kind: str) -> None:
    element, values = KINDS[kind]
    for one, other in combinations(range(len(values)), 2):
        left, right = (pa.array([values[0], values[i]], arrow_type(element)).slice(1) for i in (one, other))
        assert values_equal(left, right).tolist() == [(one, other) == (0, 1)]
        assert values_equal(left, left).tolist() == [True]


def test_collect_keeps_each_map_once(tmp_path: Path) -> None:
    entries = MapType(key=BYTES, value=INT)
    row: DataType = RowType(fields=(DataField(id=10, name="m", type=entries),))
    columns = {
        "k": INT,
        "a": CollectionType(Kind.ARRAY, element=entries),
        "r": CollectionType(Kind.ARRAY, element=row),
    }
    options = {"merge-engine": "aggregation"}
    for name in "ar":
        options |= {f"fields.{name}.aggregate-function": "collect", f"fields.{name}.distinct": "true"}
    store = make_store(tmp_path, columns, keys=["k"], bucket="1").with_options(options)
    live = {}
    one, other = [(b"x", 1), (b"y", 2)], [(b"y", 2), (b"x", 1)]
    for number, given in enumerate((one, other, one[:1])):
        writer = open_writer(store, sequence_start=number)
        writer.write(make_batch(store, [(1, [given], [{"m": given}])]))
        live = files_of(writer.finish(), live)
    ((_, maps, rows),) = read_rows(store, live)
    assert [sorted(m) for m in maps] == [one, one[:1]]
    assert [sorted(r["m"]) for r in rows] == [one, one[:1]]
