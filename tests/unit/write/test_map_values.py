"""Maps as values that merge engines compare: equal whatever the order of their keys is."""

from __future__ import annotations

from pathlib import Path

from paimon_core.spec.types import BYTES, INT, CollectionType, DataField, DataType, Kind, MapType, RowType
from paimon_core.write.writer import open_writer
from tests.support.data import files_of, make_batch, make_store, read_rows


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
