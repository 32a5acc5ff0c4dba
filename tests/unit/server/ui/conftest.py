"""The catalog of the pages' tests."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog

HOSTILE = (
    "</td><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e'\""
    "]]><![CDATA[</svg><!-- &#x202e; \x9b31m\x1b]0;x\x07\u2066\u200b\ufeff\u2028\u061c\U000e0041\r"
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("day", pa.string()),
        pa.field("v<b>", pa.string(), metadata={"comment": HOSTILE}),
        ("at", pa.timestamp("us", "UTC")),
        ("more", pa.list_(pa.string())),
    ]
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> PaimonCatalog:
    catalog = open_catalog(str(tmp_path_factory.mktemp("lake")), time_zone="UTC", **{"s3.secret-key": "hunter2"})
    catalog.create_database("shop")
    table = catalog.create_table(
        "shop.orders",
        SCHEMA,
        primary_key=["id", "day"],
        partitioned_by="day",
        options={"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "3", "unknown<i>": HOSTILE},
        comment=HOSTILE,
    )
    for n in range(4):
        row = {"id": n, "day": "2024-01-0<1>", "v<b>": HOSTILE, "at": None, "more": ["a", HOSTILE]}
        table.upsert([row, {**row, "id": n + 10, "v<b>": None}])
    catalog.create_table("shop.it's <i>a< table", pa.schema([("a", pa.int64())])).append([{"a": 1}])
    catalog.create_table("shop.empty", pa.schema([("a", pa.int64())]))
    catalog.call("create_tag", table="shop.orders", tag="one", snapshot=1)
    return catalog
