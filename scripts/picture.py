"""Draw docs/pictures: a warehouse with its engines and one bucket as an LSM tree (lake.svg), and the pictures of
docs/pictures.md (lsm.svg, timeline.svg).

`python scripts/picture.py` writes a table with Spark, reads the files of its bucket from `$files`, and draws them.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

import paimon_sql

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "lake.svg"
WRITERS = ("Spark with paimon-sql", "Spark with Java's connector", "Flink", "pypaimon, pypaimon-rust")
READERS = ("shell, notebooks, dbt", "JDBC, ODBC, Spark Connect", "REST catalog", "readers of Iceberg")
WIDTH, HEIGHT, LEFT, RIGHT = 900, 430, 60, 840
KEYS = 1000  # keys of the table are less than this


@dataclass(frozen=True)
class DataFile:
    """A data file: its level, the number of its rows, its first and last key, and its last sequence number."""

    level: int
    rows: int
    first: int
    last: int
    sequence: int


def files_of_a_bucket(warehouse: str) -> list[DataFile]:
    """Return the files of a bucket after inserts, compactions and more inserts."""
    spark = paimon_sql.connect(warehouse=warehouse)
    spark.sql("CREATE DATABASE lake")
    spark.sql(
        "CREATE TABLE lake.orders (id BIGINT, amount INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1',"
        " 'write-only' = 'true', 'target-file-size' = '2 kb', 'file.compression' = 'none', 'num-levels' = '4')"
    )

    def insert(first: int, last: int, step: int) -> None:
        spark.sql(f"INSERT INTO lake.orders SELECT id, 1 FROM range({first}, {last}, {step})")

    insert(0, KEYS, 1)
    spark.sql("CALL sys.compact(table => 'lake.orders')")
    insert(100, 700, 2)
    insert(150, 650, 3)
    spark.sql("CALL sys.compact(table => 'lake.orders', compact_strategy => 'minor')")
    insert(300, 900, 5)
    insert(0, 400, 7)
    insert(500, 990, 4)
    rows = spark.sql(
        "SELECT level, record_count, min_key, max_key, max_sequence_number FROM lake.orders$files ORDER BY level"
    ).collect()
    return [DataFile(r[0], r[1], int(r[2].strip("[]{}")), int(r[3].strip("[]{}")), r[4]) for r in rows]


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


def drawn_bucket(files: list[DataFile]) -> list[str]:
    """Draw each sorted run as a line of files: level 0 has a run for each file, every other level one run."""
    runs = {(f.level, f.sequence if f.level == 0 else 0): [] for f in files}  # type: dict[tuple[int, int], list[DataFile]]
    for file in files:
        runs[file.level, file.sequence if file.level == 0 else 0].append(file)
    drawn = [note(LEFT, 190, "one bucket of a table with a primary key: sorted runs of files, newest on top")]
    scale = (RIGHT - LEFT - 90) / KEYS
    for line, (level, sequence) in enumerate(sorted(runs, key=lambda run: (run[0], -run[1]))):
        y = 205 + line * 38
        drawn.append(note(LEFT, y + 20, f"level {level}"))
        for file in sorted(runs[level, sequence], key=lambda f: f.first):
            x, width = LEFT + 80 + file.first * scale, max(3, (file.last - file.first) * scale - 2)
            label = f"{file.rows} rows" if width > 70 else ""
            drawn.append(box(x, y, width, label, fill="#ffd8b5" if level == 0 else "#d0d7de", height=28))
    drawn.append(note(LEFT + 80, HEIGHT - 12, "key 0"))
    drawn.append(note(RIGHT, HEIGHT - 12, f"key {KEYS}", "end"))
    return drawn


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as warehouse:
        files = files_of_a_bucket(warehouse)
        shown = paimon_sql.open_catalog(warehouse).table("lake.orders").pictures
        shown.lsm().save(str(PICTURE.with_name("lsm.svg")))
        shown.timeline().save(str(PICTURE.with_name("timeline.svg")))
    style = (
        "<style>text{font:13px sans-serif;fill:#1f2328}.note{fill:#57606a}"
        ".arrow{stroke:#57606a;fill:none;stroke-width:1.5}</style>"
    )
    body = "\n".join([style, *drawn_engines(), *drawn_bucket(files)])
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">\n{background}\n{body}\n</svg>\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
