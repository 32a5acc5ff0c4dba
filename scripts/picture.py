"""Draw docs/pictures from the flights of the demo: a warehouse with its engines and one bucket as an LSM tree
(lake.svg), and the pictures of docs/pictures.md (lsm.svg, timeline.svg, partitions.svg).

`python scripts/picture.py` loads the flights as sql-examples/flights.sql does, without Spark, and adds late news.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from flights_data import read_flights

import paimon_sql
from paimon_core.inspect.lsm_map import BucketMap, lsm_map
from paimon_sql.python.table import PaimonTable

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "lake.svg"
WRITERS = ("Spark with paimon-sql", "Spark with Java's connector", "Flink", "pypaimon, pypaimon-rust")
READERS = ("shell, notebooks, dbt", "JDBC, ODBC, Spark Connect", "REST catalog", "readers of Iceberg")
WIDTH, HEIGHT, LEFT, RIGHT = 900, 430, 60, 840
ROOM = RIGHT - LEFT - 80  # for the key range
KEY = ["carrier", "flight", "origin", "scheduled", "month"]
DELAYS = ("dep_delay", "arr_delay")
SHOWN = "month=11"  # the partition of the LSM trees
# the batches of news of the demo: the column that comes, and its months
NEWS: Sequence[tuple[str, tuple[int, ...]]] = (
    *(("dep_delay", (9, 2, 11, 5)), ("arr_delay", (3, 10, 6, 8)), ("dep_delay", (7, 12, 1, 4))),
    *(("arr_delay", (12, 5, 1, 2)), ("dep_delay", (10, 3, 8, 6)), ("arr_delay", (11, 4, 9, 7))),
    ("arr_delay", (11, 4, 9, 7)),
)
# carriers that correct the delays of November
LATE: Sequence[tuple[str, str]] = (("AA", "DL"), ("EV", "MQ"), ("9E", "B6"), ("UA", "YV"), ("DL", "UA"))


def flights() -> pa.Table:
    """Return all flights with the columns of the demo's table."""
    found = read_flights()
    parts = [pc.cast(found[name], pa.string()) for name in ("year", "month", "day", "hour", "minute")]
    padded = [pc.utf8_lpad(part, 2, "0") for part in parts]
    days = pc.binary_join_element_wise(*padded[:3], "-")
    times = pc.binary_join_element_wise(*padded[3:], ":")
    scheduled = pc.cast(pc.binary_join_element_wise(days, times, " "), pa.timestamp("us"))
    return found.append_column("scheduled", scheduled).select([*KEY, "dest", "distance", *DELAYS])


def load_flights(warehouse: str) -> PaimonTable:
    """Return the table of the demo before its compaction: twelve months of the schedule, then seven batches of news."""
    news = flights()
    catalog = paimon_sql.open_catalog(warehouse)
    catalog.create_database("nyc")
    options = {"bucket": "2", "write-only": "true"}
    table = catalog.create_table("nyc.flights", news.schema, primary_key=KEY, partitioned_by="month", options=options)
    for month in range(1, 13):
        table.upsert(without(news.filter(pc.equal(news["month"], month)), *DELAYS))
    catalog.call("create_tag", table="nyc.flights", tag="schedule")
    seen = set[tuple[str, int]]()
    for column, months in NEWS:
        rows = news.filter(pc.and_(pc.is_in(news["month"], pa.array(months, pa.int32())), pc.is_valid(news[column])))
        other = next(name for name in DELAYS if name != column)
        seen |= {(column, month) for month in months}
        unknown = [month for month in months if (other, month) not in seen]
        known = rows.filter(pc.invert(pc.is_in(rows["month"], pa.array(unknown, pa.int32()))))
        late = rows.filter(pc.is_in(rows["month"], pa.array(unknown, pa.int32())))
        table.upsert(pa.concat_tables([known, without(late, other)]))
    return table


def without(rows: pa.Table, *columns: str) -> pa.Table:
    """Return rows with NULL in some columns."""
    for name in columns:
        empty = pa.nulls(rows.num_rows, rows.schema.field(name).type)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), empty)
    return rows


def with_late_news(table: PaimonTable, warehouse: str) -> PaimonTable:
    """Compact the flights, and correct the late ones of some carriers in November."""
    paimon_sql.open_catalog(warehouse).call("compact", table="nyc.flights")
    rows = table.scan(where="month = 11 AND arr_delay > 30").to_arrow()
    for first, last in LATE:
        table.upsert(
            rows.filter(pc.and_(pc.greater_equal(rows["carrier"], first), pc.less_equal(rows["carrier"], last)))
        )
    return paimon_sql.open_catalog(warehouse).table("nyc.flights")


def box(x: float, y: float, width: float, text: str, *, fill: str, height: float = 30) -> str:
    """Return a rectangle with a text in its middle."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" {size} rx="4" fill="{fill}" stroke="#57606a"/>'
        f'<text x="{x + width / 2:.0f}" y="{y + height / 2 + 4:.0f}" text-anchor="middle">{escape(text)}</text>'
    )


def note(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Return a text without a box."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="note">{escape(text)}</text>'


def drawn_engines() -> list[str]:
    """Draw the engines above the warehouse, and the servers below it."""
    drawn = []
    width = (RIGHT - LEFT) / len(WRITERS) - 12
    for n, name in enumerate(WRITERS):
        drawn.append(box(LEFT + n * (width + 16), 20, width, name, fill="#ddf4ff"))
    drawn.append(
        box(LEFT, 70, RIGHT - LEFT, "one warehouse: files on disks, S3 or HDFS, and a catalog", fill="#fff8c5")
    )
    for n, name in enumerate(READERS):
        drawn.append(box(LEFT + n * (width + 16), 120, width, name, fill="#dafbe1"))
    for y in (50, 100):
        drawn += [
            f'<path d="M{LEFT + (n + 0.5) * (width + 16) - 8:.0f} {y} v20" class="arrow"/>' for n in range(len(WRITERS))
        ]
    return drawn


def drawn_bucket(bucket: BucketMap) -> list[str]:
    """Draw each sorted run as a line of files, the newest on top."""
    drawn = [note(LEFT, 190, "a bucket of all flights of November: sorted runs of files by key, the newest on top")]
    for line, run in enumerate(bucket.runs):
        y = 205 + line * 34
        drawn.append(note(LEFT, y + 18, f"level {run.level}"))
        for span in run.spans:
            x, width = LEFT + 80 + span.start * ROOM, max(3, (span.end - span.start) * ROOM - 2)
            label = f"{span.rows:,} rows" if width > 60 else ""
            drawn.append(box(x, y, width, label, fill="#ffd8b5" if run.level == 0 else "#d0d7de", height=26))
    spans = [span for run in bucket.runs for span in run.spans]
    first, last = min(spans, key=lambda s: s.start).first_key, max(spans, key=lambda s: s.end).last_key
    drawn.append(note(LEFT + 80, HEIGHT - 8, first))
    drawn.append(note(RIGHT, HEIGHT - 8, last, "end"))
    return drawn


def main() -> None:
    """Write the pictures."""
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as warehouse:
        table = with_late_news(load_flights(warehouse), warehouse)
        (bucket,) = lsm_map(table.inner.store, SHOWN, 0).buckets
        table.pictures.lsm(SHOWN, 0).save(str(PICTURE.with_name("lsm.svg")))
        table.pictures.timeline().save(str(PICTURE.with_name("timeline.svg")))
        table.pictures.partitions().save(str(PICTURE.with_name("partitions.svg")))
    style = (
        "<style>text{font:12px sans-serif;fill:#1f2328}.note{fill:#57606a}"
        ".arrow{stroke:#57606a;fill:none;stroke-width:1.5}</style>"
    )
    body = "\n".join([style, *drawn_engines(), *drawn_bucket(bucket)])
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    PICTURE.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">\n{background}\n{body}\n</svg>\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
