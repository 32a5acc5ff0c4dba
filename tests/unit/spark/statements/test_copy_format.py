from __future__ import annotations

from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_sql.spark.statements.copy_format import CopyFormat, copy_format


def reads(**options: Any) -> CopyFormat:
    return copy_format(options, reads=True)


def test_options_become_sparks() -> None:
    found = reads(TYPE="csv", FIELD_DELIMITER="|", SKIP_HEADER="1", NULL_IF=["NULL", "-"], EMPTY_FIELD_AS_NULL="true")
    assert found == CopyFormat("csv", {"sep": "|", "header": "true"}, ("NULL", "-", ""))
    assert reads(TYPE="JSON", MULTI_LINE="FALSE", NULL_IF="x") == CopyFormat("json", {"multiLine": "false"}, ("x",))
    written = copy_format({"TYPE": "PARQUET", "COMPRESSION": "GZIP"}, reads=False)
    assert written == CopyFormat("parquet", {"compression": "GZIP"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"TYPE": "AVRO"}, "TYPE AVRO: use one of CSV, JSON, PARQUET"),
        ({"TYPE": "CSV", "HEADER": "TRUE"}, "CSV files that are read has no option HEADER"),
        ({"TYPE": "JSON", "QUOTE": "'"}, "no option QUOTE"),
        ({"TYPE": "CSV", "SKIP_HEADER": "2"}, "SKIP_HEADER of FILE_FORMAT cannot be '2': it is 0 or 1"),
        ({"TYPE": "CSV", "MODE": "PERMISSIVE"}, "no option MODE"),
        ({"TYPE": "JSON", "MULTI_LINE": "1"}, "MULTI_LINE of FILE_FORMAT cannot be '1'"),
    ],
)
def test_unknown_options_are_refused_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        reads(**options)
