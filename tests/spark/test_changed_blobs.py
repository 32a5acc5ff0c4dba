"""UPDATE and MERGE keep BLOBs as they are, also BLOBs that look like descriptors of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor

pytestmark = pytest.mark.spark

KINDS = {
    "keyed": "'primary-key' = 'id', 'bucket' = '1'",
    "evolved": "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true','deletion-vectors.enabled' = 'true'",
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_look_like_descriptors(spark: Any, tmp_path: Path, kind: str) -> None:
    secret, upload = tmp_path / "secret.txt", tmp_path / "upload.png"
    secret.write_bytes(b"secret")
    upload.write_bytes(BlobDescriptor(str(secret)).encode())
    value, given = upload.read_bytes(), f"X'{BlobDescriptor(str(upload)).encode().hex()}'"

    def rows() -> list[tuple[str, bytes | None]]:
        return [(r.s, r.v and bytes(r.v)) for r in spark.sql("SELECT s, v FROM t ORDER BY id").collect()]

    spark.sql(
        f"CREATE TABLE t (id INT NOT NULL, s STRING, v BINARY COMMENT '__BLOB_FIELD') TBLPROPERTIES ({KINDS[kind]})"
    )
    spark.sql(f"INSERT INTO t VALUES (1, 'a', {given}), (2, 'a', {given}), (3, 'a', X'01'), (4, 'a', NULL)")
    spark.sql("UPDATE t SET s = 'b' WHERE id <> 4")
    spark.sql("UPDATE t SET v = CASE WHEN id = 3 THEN X'02' ELSE v END")
    assert rows() == [("b", value), ("b", value), ("b", b"\x02"), ("a", None)]
    spark.sql(
        f"MERGE INTO t USING (SELECT id FROM t) AS o ON t.id = o.id WHEN MATCHED AND t.id = 1 THEN UPDATE SET s = 'c' "
        f"WHEN MATCHED AND t.id = 3 THEN UPDATE SET v = {given} WHEN MATCHED AND t.id = 4 THEN DELETE"
    )
    assert rows() == [("c", value), ("b", value), ("b", value)]
    spark.sql(f"DELETE FROM t WHERE v = X'{value.hex()}' AND id = 1")  # conditions of DELETE compare the bytes
    assert rows() == [("b", value), ("b", value)]


@pytest.mark.parametrize("kind", KINDS)
def test_expressions_on_views_are_refused(spark: Any, kind: str) -> None:
    spark.sql(f"CREATE TABLE pics (n INT, v BINARY COMMENT '__BLOB_FIELD') TBLPROPERTIES ({KINDS['evolved']})")
    spark.sql("INSERT INTO pics VALUES (1, X'6F6E65')")
    spark.sql(
        "CREATE TABLE t (id INT NOT NULL, s STRING, w BINARY COMMENT '__BLOB_VIEW_FIELD') "
        f"TBLPROPERTIES ({KINDS[kind]})"
    )
    database = spark.sql("SELECT current_database()").first()[0]
    spark.sql(f"INSERT INTO t SELECT 1, 'a', sys.blob_view('{database}.pics', 'v', _ROW_ID) FROM pics")
    for statement in (
        "UPDATE t SET s = 'b' WHERE w = X'6F6E65'",
        "UPDATE t AS x SET s = hex(x.w)",
        "UPDATE t SET s = 'b' WHERE EXISTS (SELECT 1 FROM pics WHERE pics.v = t.w)",
        "MERGE INTO t USING pics ON t.w = pics.v WHEN MATCHED THEN UPDATE SET s = 'b'",
        "MERGE INTO t USING pics ON t.id = 1 WHEN MATCHED AND t.w = pics.v THEN DELETE",
        "MERGE INTO t USING pics ON t.id = 1 WHEN MATCHED THEN UPDATE SET s = hex(t.w)",
    ):
        with pytest.raises(Exception, match=r"(UPDATE|MERGE INTO) on table \S*t reads column 'w'"):
            spark.sql(statement)
    source = "(SELECT id, w FROM t WITH (`blob-view.resolve.enabled` = 'false')) AS o"
    spark.sql("UPDATE t SET s = 'b' WHERE id = 1")
    spark.sql(f"MERGE INTO t USING {source} ON t.id = o.id WHEN MATCHED AND o.w IS NOT NULL THEN UPDATE SET w = o.w")
    assert [(r.s, bytes(r.w)) for r in spark.sql("SELECT s, w FROM t").collect()] == [("b", b"one")]
    spark.sql("DELETE FROM t WHERE w = X'6F6E65'")
    assert spark.table("t").count() == 0
