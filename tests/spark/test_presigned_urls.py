"""`sys.descriptor_to_presigned_url` in SQL, with the warehouse on S3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest

import paimon_sql
from tests.support.object_server import object_server
from tests.support.remote_storage import RemoteStorage

pytestmark = pytest.mark.spark
pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
TRACKED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'blob-as-descriptor' = 'true'"
TABLE = f"(id INT, v BINARY COMMENT '__BLOB_FIELD') TBLPROPERTIES ({TRACKED})"


@pytest.fixture(scope="module")
def storage() -> Iterator[RemoteStorage]:
    with object_server() as server:
        yield RemoteStorage("s3://lake", server.options)


@pytest.fixture
def session(spark: Any, storage: RemoteStorage) -> Any:
    for key, value in storage.warehouse().items():
        spark.conf.set(f"spark.sql.catalog.lake.{key}", value)
    spark.conf.set("spark.sql.catalog.lake", "paimon_sql.SparkCatalog")
    session = paimon_sql.install(spark)
    session.sql("CREATE DATABASE IF NOT EXISTS lake.web")
    session.sql("USE lake.web")
    return session


def test_urls(session: Any) -> None:
    session.sql(f"CREATE TABLE pics {TABLE}")
    session.sql("INSERT INTO pics VALUES (1, X'6F6E65'), (2, NULL)")
    made = "sys.descriptor_to_presigned_url('web.pics', v, INTERVAL '1' HOUR)"
    (first, second) = session.sql(f"SELECT {made} AS url FROM pics ORDER BY id").collect()
    assert second.url is None
    assert parse_qs(urlsplit(first.url).query)["X-Amz-Expires"] == ["3600"]
    with urlopen(first.url) as answer:  # noqa: S310  the server of this test
        assert answer.read() == b"one"
    tried = "lake.sys.try_descriptor_to_presigned_url('lake.web.pics', {}, INTERVAL '01:30' MINUTE TO SECOND)"
    other = "CAST(CAST(id AS STRING) AS BINARY)"
    for value, has_url in (("v", True), (other, False)):
        found = session.sql(f"SELECT {tried.format(value)} AS url FROM pics WHERE id = 1").first().url
        assert (found is not None) is has_url
    with pytest.raises(Exception, match="Invalid BlobDescriptor data"):
        session.sql(f"SELECT {made.replace('v,', f'{other},')} FROM pics").collect()
    for call, says in (
        ("('web.pics', v)", "takes the name of a table as a constant"),
        ("(concat('web.', id), v, INTERVAL '1' HOUR)", "takes the name of a table as a constant"),
        ("('web.pics', id, INTERVAL '1' HOUR)", "takes the name of a table as a constant"),
        ("('web.pics', v, INTERVAL '1' MONTH)", "takes the name of a table as a constant"),
        ("('web.pics', v, INTERVAL '0' HOUR)", "whole seconds, from one second to seven days"),
        ("('web.pics', v, INTERVAL '8' DAY)", "whole seconds, from one second to seven days"),
        ("('web.nope', v, INTERVAL '1' HOUR)", "nope"),
    ):
        with pytest.raises(Exception, match=says):
            session.sql(f"SELECT sys.descriptor_to_presigned_url{call} FROM pics").collect()


def test_local_tables_are_refused(spark: Any) -> None:
    spark.sql(f"CREATE TABLE local {TABLE}")
    database = spark.sql("SELECT current_database()").first()[0]
    call = f"sys.descriptor_to_presigned_url('{database}.local', v, INTERVAL '1' HOUR)"
    with pytest.raises(Exception, match="on storage file://, which has no presigned URLs"):
        spark.sql(f"SELECT {call} FROM local")
