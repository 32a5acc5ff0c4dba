"""What a server may start with."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_sql.server.settings import ServerSettings, check, java_properties, spark_settings


@pytest.fixture
def users(tmp_path: Path) -> Path:
    file = tmp_path / "users"
    file.write_text("")
    file.chmod(0o600)
    return file


@pytest.fixture
def keystore(tmp_path: Path) -> Path:
    file = tmp_path / "keystore"
    file.write_bytes(b"")
    return file


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_needs_no_password(host: str) -> None:
    check(ServerSettings(host=host, thrift=1, connect=2))


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "db.example.com", "localhost.example.com"])
def test_others_need_passwords_and_tls(host: str, users: Path, keystore: Path) -> None:
    with pytest.raises(InvalidOptionError, match="--users FILE or --ldap URL"):
        check(ServerSettings(host=host, thrift=1))
    with pytest.raises(InvalidOptionError, match="--tls-keystore FILE"):
        check(ServerSettings(host=host, thrift=1, users=users))
    with pytest.raises(InvalidOptionError, match="does not support TLS"):
        check(ServerSettings(host=host, thrift=1, users=users, keystore=keystore, connect=2, token="t"))
    check(ServerSettings(host=host, thrift=1, users=users, keystore=keystore))
    check(ServerSettings(host=host, thrift=1, ldap="ldaps://x", keystore=keystore))
    check(ServerSettings(host=host, thrift=1, connect=2, insecure=True))


def test_the_rest_door_needs_tokens_and_tls(users: Path, keystore: Path) -> None:
    check(ServerSettings(rest=1))
    with pytest.raises(InvalidOptionError, match="--rest-tokens FILE"):
        check(ServerSettings(host="0.0.0.0", rest=1))
    with pytest.raises(InvalidOptionError, match="--tls-certificate FILE"):
        check(ServerSettings(host="0.0.0.0", rest=1, rest_tokens=users))
    with pytest.raises(InvalidOptionError, match="go together"):
        check(ServerSettings(rest=1, tls_certificate=keystore))
    with pytest.raises(InvalidOptionError, match="no file"):
        check(ServerSettings(rest=1, tls_certificate=keystore, tls_key=keystore.parent / "none"))
    check(ServerSettings(host="0.0.0.0", rest=1, rest_tokens=users, tls_certificate=keystore, tls_key=keystore))
    check(ServerSettings(host="0.0.0.0", rest=1, insecure=True))
    users.chmod(0o640)
    with pytest.raises(InvalidOptionError, match="Other users of this machine can read"):
        check(ServerSettings(rest=1, rest_tokens=users))


def test_what_cannot_be(users: Path, tmp_path: Path) -> None:
    for settings, reason in (
        (ServerSettings(), "Nothing to serve"),
        (ServerSettings(thrift=1, users=users, ldap="ldap://x"), "not both"),
        (ServerSettings(thrift=1, users=tmp_path / "none"), "cannot be read"),
        (ServerSettings(thrift=1, keystore=tmp_path / "none"), "no keystore"),
    ):
        with pytest.raises(InvalidOptionError, match=reason):
            check(settings)
    users.chmod(0o640)
    with pytest.raises(InvalidOptionError, match="Other users of this machine can read"):
        check(ServerSettings(thrift=1, users=users))


def test_settings_of_spark(users: Path, keystore: Path) -> None:
    settings = ServerSettings(
        thrift=1, connect=2, users=users, keystore=keystore, keystore_password="p", token="t", statement_timeout=5
    )
    made = spark_settings(settings)
    hive = "spark.hadoop.hive.server2."
    assert made["spark.connect.authenticate.token"] == "t"
    assert made["spark.connect.grpc.binding.address"] == made[f"{hive}thrift.bind.host"] == "127.0.0.1"
    assert made[f"{hive}authentication"] == "CUSTOM" and made[f"{hive}use.SSL"] == "true"
    assert made["spark.sql.thriftServer.queryTimeout"] == "5s"
    assert java_properties(settings)["paimon_sql.users"] == str(users)
    ldap = ServerSettings(thrift=1, ldap="ldaps://x", ldap_base="dc=x")
    assert spark_settings(ldap)[f"{hive}authentication"] == "LDAP"
    assert java_properties(ldap) == {
        "hive.server2.authentication.ldap.url": "ldaps://x",
        "hive.server2.authentication.ldap.baseDN": "dc=x",
    }
    only_connect = spark_settings(ServerSettings(connect=2))
    assert (
        not [key for key in only_connect if key.startswith(hive)] and java_properties(ServerSettings(connect=2)) == {}
    )
