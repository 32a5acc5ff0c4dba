"""Manifests that are read in order to write what is left of them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from paimon_core.formats.iceberg_types import partition_value
from paimon_core.iceberg.manifests import ADDED, Layout, read_own_records, write_manifest
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.tables import fields


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BOOLEAN", True),
        ("INT", -7),
        ("DATE", 19000),
        ("STRING", "ä"),
        ("DECIMAL(9, 2)", Decimal("-1.50")),
        ("TIME(3)", 1234),
        ("TIMESTAMP(6)", (1_700_000_000_123, 456_000)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", (-1, 0)),
    ],
)
def test_partitions_are_written_as_they_were_read(tmp_path: Path, kind: str, value: Any) -> None:
    storage, partition = LocalFileIO(), parse_type(kind)
    schema = new_table_schema(fields(k=parse_type("INT"), p=partition), partition_keys=("p",))
    layout = Layout(str(tmp_path), schema)
    entries = [
        {
            "status": ADDED,
            "snapshot_id": 1,
            "sequence_number": 1,
            "file_sequence_number": 1,
            "data_file": {
                "content": 0,
                "file_path": "file:///t/0.parquet",
                "file_format": "PARQUET",
                "partition": {"p": partition_value(partition, given)},
                "record_count": 1,
                "file_size_in_bytes": 1,
                "null_value_counts": None,
                "lower_bounds": None,
                "upper_bounds": None,
            },
        }
        for given in (value, None)
    ]
    made = write_manifest(storage, layout, 1, entries)
    found = read_own_records(storage, str(tmp_path), made["manifest_path"])
    assert found == entries
    assert write_manifest(storage, layout, 1, found)["partitions"] == made["partitions"]
