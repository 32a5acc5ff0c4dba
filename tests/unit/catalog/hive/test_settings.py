"""The options of a Hive catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_sql.catalog.load import load_catalog

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from paimon_sql.catalog.hive.settings import Address, hive_options, kerberos_service, read_settings

URI = {"uri": "thrift://a:9083"}


def test_addresses() -> None:
    def found(uri: str) -> list[tuple[str, int]]:
        return [(a.host, a.port) for a in read_settings({"uri": uri}, locks=False).addresses]

    assert found("thrift://a") == [("a", 9083)]
    assert found(" thrift://a:1 , thrift://b.c:2/,thrift://a:1") == [("a", 1), ("b.c", 2)]
    assert found("thrift://[::1]:3") == [("::1", 3)]
    assert str(Address("::1", 3)) == "thrift://[::1]:3"
    assert read_settings({"hive.metastore.uris": "thrift://x"}, locks=False).address == "thrift://x:9083"


@pytest.mark.parametrize(
    "uri", ["http://a:9083", "thrift://a:b", "thrift://a:99999", "a:9083", "thrift://u:p@a", "thrift://a,"]
)
def test_what_is_no_address(uri: str) -> None:
    with pytest.raises(InvalidOptionError, match="thrift://host:port") as caught:
        read_settings({"uri": uri}, locks=False)
    assert "u:p@" not in str(caught.value)


def test_no_address() -> None:
    with pytest.raises(InvalidOptionError, match=r"needs the option 'uri'.*hive-conf-dir"):
        read_settings({}, locks=False)


def test_values() -> None:
    given = {
        **URI,
        "client-pool-size": "5",
        "hive.metastore.client.socket.timeout": "90s",
        "hive.metastore.client.connection.timeout": "1500ms",
        "location-in-properties": "true",
        "table.type": "EXTERNAL",
        "sync-all-properties": "false",
        "alter-table-cascade": "false",
        "lock-acquire-timeout": "30 s",
    }
    made = read_settings(given, locks=True)
    assert (made.pool_size, made.answer_seconds, made.connect_seconds) == (5, 90, 1.5)
    assert made.location_in_properties and made.external and made.lock_enabled
    assert (made.sync_properties, made.cascade, made.acquire_timeout) == (False, False, 30_000)
    assert read_settings({**URI, "hive.metastore.client.socket.timeout": "20"}, locks=False).answer_seconds == 20


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("client-pool-size", "0"),
        ("client-pool-size", "many"),
        ("table.type", "view"),
        ("hive.metastore.client.socket.timeout", "0"),
        ("hive.metastore.client.socket.timeout", "soon"),
        ("hive.metastore.sasl.enabled", "perhaps"),
        ("lock-acquire-timeout", "x"),
    ],
)
def test_bad_values(option: str, value: str) -> None:
    with pytest.raises(InvalidOptionError, match=option.replace(".", r"\.")):
        read_settings({**URI, option: value}, locks=False)


def test_kerberos() -> None:
    with pytest.raises(InvalidOptionError, match=r"hive\.metastore\.kerberos\.principal"):
        read_settings({**URI, "hive.metastore.sasl.enabled": "true"}, locks=False)
    given = {**URI, "hive.metastore.sasl.enabled": "true", "hive.metastore.kerberos.principal": "hive/_HOST@LAKE"}
    principal = read_settings(given, locks=False).kerberos_principal
    assert principal is not None
    assert kerberos_service(principal, Address("Meta.Example", 1)) == ("hive@meta.example", False)
    assert kerberos_service("hms/other@LAKE", Address("meta", 1)) == ("hms/other@LAKE", True)


def test_http_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="'http' cannot be used"):
        read_settings({**URI, "hive.metastore.client.thrift.transport.mode": "http"}, locks=False)


def test_options_win_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hive-site.xml").write_text(
        "<configuration><property><name>hive.metastore.uris</name><value>thrift://file</value></property>"
        f"<property><name>hive.metastore.warehouse.dir</name><value>{tmp_path}/wh</value></property></configuration>"
    )
    monkeypatch.delenv("HIVE_CONF_DIR", raising=False)
    named = {"hive-conf-dir": str(tmp_path)}
    assert read_settings(hive_options(named), locks=False).address == "thrift://file:9083"
    assert read_settings(hive_options({**named, **URI}), locks=False).address == "thrift://a:9083"
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    catalog = load_catalog({"metastore": "hive"})
    assert getattr(catalog, "warehouse", None) == f"{tmp_path}/wh"
    monkeypatch.delenv("HIVE_CONF_DIR")
    with pytest.raises(InvalidOptionError, match="needs the option 'warehouse'"):
        load_catalog({"metastore": "hive", **URI})
