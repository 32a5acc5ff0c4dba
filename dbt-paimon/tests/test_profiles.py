"""Profiles: their keys, what is refused, and that secrets are not shown."""

import pytest
from dbt.adapters.contracts.connection import Connection
from dbt.adapters.paimon.connections import PaimonConnectionManager
from dbt.adapters.paimon.credentials import PaimonCredentials
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt_common.exceptions import DbtRuntimeError


def _credentials(**profile):
    data = PaimonCredentials.translate_aliases({"schema": "shop", **profile})
    PaimonCredentials.validate(data)
    return PaimonCredentials.from_dict(data)


def test_a_warehouse_and_a_schema_are_enough():
    credentials = _credentials(warehouse="/lake")
    assert (credentials.type, credentials.method, credentials.database) == ("paimon", "session", "paimon")
    assert credentials.server_side_parameters == {"spark.sql.ansi.enabled": "false"}


def test_settings_of_yaml_become_texts():
    given = {"spark.sql.shuffle.partitions": 4, "spark.ui.enabled": False, "spark.sql.ansi.enabled": True}
    credentials = _credentials(
        warehouse="/lake", catalog="lake", server_side_parameters=given, catalog_options={"x": 1}
    )
    assert credentials.database == "lake"
    assert credentials.server_side_parameters == {
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.sql.ansi.enabled": "true",
    }
    assert credentials.catalog_options == {"x": "1"}


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ({"warehous": "/lake"}, "'warehous' is not a setting.*Did you mean warehouse"),
        ({"s3.endpoint": "x"}, "'s3.endpoint' is not a setting.*catalog_options"),
        ({"method": "http", "warehouse": "/lake"}, "method 'http' does not exist for Paimon"),
        ({"method": "thrift", "host": "x", "warehouse": "/lake"}, "warehouse: with method thrift the server"),
        ({"method": "thrift", "host": "x", "remote": "sc://x"}, "remote: with method thrift the server"),
        ({"remote": "sc://x", "warehouse": "/lake"}, "warehouse: with remote the server"),
        ({"warehouse": "/lake", "schema": None}, "schema"),
    ],
)
def test_bad_profiles_say_what_is_wrong(profile, text):
    with pytest.raises((DbtRuntimeError, Exception), match=text):
        _credentials(**profile)


def test_the_token_of_a_remote_session_is_not_shown():
    credentials = _credentials(remote="sc://spark.example.org:15002/;token=hunter2;user_id=me")
    assert "hunter2" not in str(dict(credentials.connection_info(with_aliases=True))) + credentials.unique_field
    assert "spark.example.org" in str(dict(credentials.connection_info()))


def test_what_debug_shows_has_no_secrets():
    credentials = _credentials(
        warehouse="s3://bucket/lake?token=hunter2",
        metastore="jdbc",
        uri="jdbc:postgresql://me:hunter2@host/db?password=hunter2",
        catalog_options={"jdbc.password": "hunter2", "s3.secret-key": "hunter2", "jdbc.user": "me"},
        server_side_parameters={"spark.hadoop.fs.s3a.secret.key": "hunter2"},
        password="hunter2",
        token="hunter2",
    )
    shown = dict(credentials.connection_info(with_aliases=True))
    assert "hunter2" not in str(shown)
    assert shown["catalog_options"]["jdbc.user"] == "me"
    assert shown["catalog"] == shown["database"] == "paimon"
    assert "host/db" in shown["uri"]


def test_settings_go_to_a_thrift_server_by_the_keys_that_it_takes(monkeypatch):
    """HiveServer2 passes over keys without a prefix: ANSI mode stayed on."""
    seen = []

    def opened(cls, connection):
        seen.append(connection.credentials.server_side_parameters)
        return connection

    monkeypatch.setattr(SparkConnectionManager, "open", classmethod(opened))
    given = {"spark.sql.shuffle.partitions": 4, "set:hivevar:day": "x"}
    credentials = _credentials(method="thrift", host="x", server_side_parameters=given)
    connection = Connection(type="paimon", name="a", credentials=credentials)
    assert PaimonConnectionManager.open(connection).credentials is credentials
    assert seen == [
        {
            "set:hiveconf:spark.sql.ansi.enabled": "false",
            "set:hiveconf:spark.sql.shuffle.partitions": "4",
            "set:hivevar:day": "x",
        }
    ]
    assert credentials.server_side_parameters["spark.sql.ansi.enabled"] == "false"
