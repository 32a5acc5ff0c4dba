"""Make the tables of pypaimon, where a version of it is installed.

python -m tests.interop.zoo.python_tables WAREHOUSE EXPECTED

With `--read` in front of these it reads the tables that are there, as `java Zoo --read` does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

from tests.interop.zoo.values import Rows, shown_rows

PLAIN = pa.schema([("id", pa.int32()), ("v", pa.string())])
KEYED = pa.schema([pa.field("id", pa.int32(), nullable=False), ("v", pa.string()), ("n", pa.int64())])
PARTS = pa.schema([("id", pa.int32()), ("v", pa.float64()), ("d", pa.date32()), ("p", pa.string())])
SUMS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("s", pa.int64()), ("m", pa.string())])
TYPES = pa.schema(
    [
        *(("id", pa.int32()), ("b", pa.bool_()), ("i8", pa.int8()), ("i16", pa.int16()), ("i64", pa.int64())),
        *(("f32", pa.float32()), ("f64", pa.float64()), ("dec", pa.decimal128(10, 2)), ("wide", pa.decimal128(30, 5))),
        *(("s", pa.string()), ("bin", pa.binary()), ("d", pa.date32()), ("ts3", pa.timestamp("ms"))),
        *(("ts6", pa.timestamp("us")),),
    ]
)
NESTED = pa.schema(
    [
        ("id", pa.int32()),
        ("m", pa.map_(pa.string(), pa.int32())),
        ("l", pa.list_(pa.string())),
        ("r", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
MOMENT = datetime(2023, 11, 14, 22, 13, 20, 123456)
TYPED = (1, True, 7, 300, 2**40, 1.25, 1e100, Decimal("12345.67"), Decimal("1234567890.12345"), "vär", b"\x00\x01\xff")
DAY = date(2024, 1, 1)
FORMATS = ("parquet", "orc", "avro")


class Made:
    """One table, as it is made."""

    def __init__(self, catalog: Any, warehouse: Path, name: str):
        self._catalog, self._name = catalog, f"zoo.{name}"
        self._folder = warehouse / "zoo.db" / name
        self._schema = PLAIN

    def create(self, schema: pa.Schema, keys: str = "", partitions: str = "", **options: str) -> None:
        self._schema = schema
        spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        lists = {
            "primary_keys": keys.split(",") if keys else None,
            "partition_keys": partitions.split(",") if partitions else None,
        }
        self._catalog.create_table(self._name, Schema.from_pyarrow_schema(schema, options=spelled, **lists), False)

    @property
    def table(self) -> Any:
        return self._catalog.get_table(self._name)

    def write(self, *rows: tuple[Any, ...], overwrite: dict[str, Any] | None = None) -> None:
        """Commit rows."""
        builder = self.table.new_batch_write_builder()
        if overwrite is not None:
            builder = builder.overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        columns = [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), self._schema, strict=True)]
        write.write_arrow(pa.Table.from_arrays(columns, schema=self._schema))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def rows(self, **options: str) -> Rows:
        """The rows of the latest version, or the one that options name."""
        table = self.table.copy({k.replace("__", "."): v for k, v in options.items()}) if options else self.table
        builder = table.new_read_builder()
        read = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        return shown_rows(() if read is None else read.combine_chunks().to_batches())

    def read(self) -> dict[str, Any]:
        """What the writer reads of the table."""
        tags = sorted(p.name.removeprefix("tag-") for p in self._folder.glob("tag/tag-*"))
        found = {"latest": self.rows(), "snapshots": {}, "tags": {}, "branches": {}}
        if tags:
            found["tags"] = {t: self.rows(**{"scan__tag-name": t}) for t in tags}
        return {**found, "columns": [f.name for f in self.table.fields]}


def _append_tables() -> dict[str, Callable[[Made], None]]:
    def default(t: Made) -> None:
        t.create(PLAIN)
        t.write((1, "a"), (2, None))
        t.write((3, "c"))
        t.write((4, "d"), (5, "e"))

    def bucket_key(t: Made) -> None:
        t.create(PLAIN, bucket="2", bucket_key="id")
        t.write((1, "a"), (2, "b"), (3, "c"))
        t.write((4, "d"), (5, None))

    def parts(t: Made) -> None:
        t.create(PARTS, partitions="d,p")
        t.write((1, 1.5, DAY, "x"), (2, None, DAY, "y z"), (3, -2.5, date(1969, 12, 31), "x"))
        t.write((4, 4.5, DAY, "x"))

    def null_parts(t: Made) -> None:
        t.create(PARTS, partitions="d,p")
        t.write((1, 1.5, DAY, None))
        t.write((2, None, None, "x"))
        t.write((3, -2.5, None, None))

    def overwritten(t: Made) -> None:
        t.create(PARTS, partitions="p")
        t.write((1, 1.5, DAY, "x"), (2, None, DAY, "y"))
        t.write((3, 4.5, DAY, "x"), overwrite={"p": "x"})

    def tagged(t: Made) -> None:
        t.create(PLAIN)
        t.write((1, "a"))
        t.table.create_tag("first")
        t.write((2, "b"))

    return {
        "app_default": default,
        "app_bucket_key": bucket_key,
        "app_part": parts,
        "app_null_part": null_parts,
        "app_overwritten": overwritten,
        "tagged": tagged,
    }


def _tables_of(form: str) -> dict[str, Callable[[Made], None]]:
    def types(t: Made) -> None:
        t.create(TYPES, file__format=form)
        t.write((*TYPED, DAY, MOMENT.replace(microsecond=123000), MOMENT), (2, *[None] * (len(TYPES) - 1)))

    def nested(t: Made) -> None:
        t.create(NESTED, file__format=form)
        t.write(
            (1, [("a", 1), ("b", None)], ["x", None], {"a": 7, "b": "seven"}), (2, None, None, None), (3, [], [], None)
        )

    def keyed(t: Made) -> None:
        t.create(KEYED, "id", bucket="2", file__format=form)
        t.write((1, "a", 1), (2, "b", 2), (3, "c", None))
        t.write((2, "B", 22), (4, None, 4))

    return {f"types_{form}": types, f"nested_{form}": nested, f"pk_{form}": keyed}


def _keyed_tables() -> dict[str, Callable[[Made], None]]:
    def dynamic(t: Made) -> None:
        t.create(KEYED, "id")
        t.write((1, "a", 1), (2, "b", 2))

    def parts(t: Made) -> None:
        schema = pa.schema([KEYED.field(0), KEYED.field(1), pa.field("d", pa.date32(), nullable=False)])
        t.create(schema, "id,d", "d", bucket="1")
        t.write((1, "a", DAY), (1, "b", date(1969, 12, 31)))
        t.write((1, "A", DAY), (2, "c", DAY))

    def partial(t: Made) -> None:
        t.create(SUMS, "k", bucket="1", merge_engine="partial-update")
        t.write((1, 1, None))
        t.write((1, None, "m"), (2, 2, "n"))

    def aggregated(t: Made) -> None:
        functions = {"fields__s__aggregate_function": "sum", "fields__m__aggregate_function": "max"}
        t.create(SUMS, "k", bucket="1", merge_engine="aggregation", **functions)
        t.write((1, 1, "a"), (2, 5, None))
        t.write((1, 2, "b"), (2, None, "q"))

    def timed(t: Made) -> None:
        schema = pa.schema([KEYED.field(0), ("t", pa.time32("ms"))])
        t.create(schema, "id", bucket="1")
        t.write((1, time(1, 2, 3)), (2, None))

    return {
        "pk_dynamic": dynamic,
        "pk_part": parts,
        "me_partial_update": partial,
        "me_aggregation": aggregated,
        "pk_time": timed,
    }


def read(warehouse: Path, found: Path) -> None:
    """Read each table in the database `zoo`: its rows, or the text of the error."""
    catalog, tables = CatalogFactory.create({"warehouse": str(warehouse.absolute())}), {}
    for folder in sorted((warehouse / "zoo.db").iterdir()):
        try:
            tables[folder.name] = Made(catalog, warehouse, folder.name).rows()
        except Exception as e:  # of any kind: what it cannot read
            tables[folder.name] = repr(e)
    found.write_text(json.dumps(tables), encoding="utf-8")


def main(warehouse: Path, expected: Path) -> None:
    """Make each table in the database `zoo`; one that the version cannot make is left out."""
    catalog = CatalogFactory.create({"warehouse": str(warehouse.absolute())})
    catalog.create_database("zoo", False)
    steps = _append_tables() | _keyed_tables()
    for form in FORMATS:
        steps |= _tables_of(form)
    tables, left_out = {}, {}
    for name, step in steps.items():
        try:
            made = Made(catalog, warehouse, name)
            step(made)
            tables[name] = made.read()
        except Exception as e:  # of any kind: what it cannot do
            left_out[name] = repr(e)
    expected.write_text(json.dumps({"tables": tables, "left_out": left_out}), encoding="utf-8")


if __name__ == "__main__":
    program = read if sys.argv[1] == "--read" else main
    program(Path(sys.argv[-2]), Path(sys.argv[-1]))
