"""What rows may name in a warehouse with users, however it is spelled."""

from __future__ import annotations

import pytest

from paimon_core.store.allowed import Allowed

WAREHOUSE = "s3://bucket/wh"
ALLOWED = Allowed(("s3a://bucket", "s3://bucket", "s3://Bucket:443", "hdfs://nn:8020", "/data"), with_users=WAREHOUSE)
ROOT = f"{WAREHOUSE}/mine.db/t"


@pytest.mark.parametrize(
    "path",
    [
        f"{WAREHOUSE}/other.db/t/f",
        "s3a://bucket/wh/other.db/t/f",
        "s3n://bucket/wh/other.db/t/f",
        "s3://BUCKET/wh/other.db/t/f",
        "s3://bucket:443/wh/other.db/t/f",
        "s3://bucket//wh/other.db/t/f",
        "s3://bucket/./wh/other.db/t/f",
        "s3://bucket/%77h/other.db/t/f",
        "s3a://bucket/wh%2Fother.db/t/f",
        "s3a://bucket/x/../wh/other.db/t/f",
        "s3a://bucket/x/%2e%2e/wh/other.db/t/f",
        "s3a://bucket/x/%2E%2E%2Fwh/other.db/t/f",
        "s3a://bucket\\wh\\other.db/t/f",
        "s3a://bucket/x\\..\\wh/other.db/t/f",
        f"{ROOT}/../../other.db/t/f",
        f"{ROOT}/%2e%2e/%2e%2e/other.db/t/f",
        "http://bucket/wh/other.db/t/f",
        "file:///etc/passwd",
        "/etc/passwd",
    ],
)
def test_no_spelling_leads_to_other_tables(path: str) -> None:
    assert not ALLOWED.takes_named_file(path, ROOT)


@pytest.mark.parametrize(
    "path", [f"{ROOT}/f", f"{ROOT}/a%20b", "s3://bucket/elsewhere/f", "s3a://bucket/whole/f", "/data/f"]
)
def test_files_of_the_table_and_of_allowed_locations(path: str) -> None:
    assert ALLOWED.takes_named_file(path, ROOT)


def test_warehouses_of_hadoop() -> None:
    allowed = Allowed(("hdfs://nn:8020", "hdfs://nn"), with_users="hdfs://nn/wh")
    for path in ("hdfs://nn:8020/wh/x", "hdfs://NN/wh/x", "hdfs://nn//wh/x", "hdfs://nn/wh/x"):
        assert not allowed.takes_named_file(path, "hdfs://nn/wh/mine.db/t"), path
    assert allowed.takes_named_file("hdfs://nn:8020/other/x", "hdfs://nn/wh/mine.db/t")
