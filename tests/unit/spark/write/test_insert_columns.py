"""The columns of an INSERT, and the values of its PARTITION clause."""

from __future__ import annotations

import pytest

from paimon_core.errors import InvalidDataError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BYTES, STRING, DataField
from paimon_sql.spark.write.insert_columns import check_partition_bytes

FIELDS = (DataField(id=0, name="b", type=BYTES), DataField(id=1, name="s", type=STRING))
SCHEMA = TableSchema(fields=FIELDS, highest_field_id=1, partition_keys=("b", "s"))


@pytest.mark.parametrize("name", ["b", "B"])
def test_bytes_that_spark_s_parser_does_not_keep_are_refused(name: str) -> None:
    with pytest.raises(InvalidDataError, match=f"PARTITION cannot name the value of '{name}'.*not UTF-8"):
        check_partition_bytes(SCHEMA, {name: b"\xff\x00".decode(errors="replace")})


def test_bytes_that_are_text_are_taken() -> None:
    check_partition_bytes(SCHEMA, {"b": "A\0", "s": "\ufffd"})
    check_partition_bytes(SCHEMA, {"b": None})
