"""Options of a catalog that could not be opened are refused before anything is asked for."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_sql.catalog.load import METASTORES, check_options, load_catalog
from paimon_sql.catalog.schema_files import table_defaults

PLACE = {"warehouse": "/tmp/warehouse"}
HIVE = {"metastore": "hive", "uri": "thrift://nowhere.invalid:9083"}
REST = {"metastore": "rest", "uri": "http://nowhere.invalid:1"}
JDBC = {"metastore": "jdbc", "uri": "jdbc:postgresql://nowhere.invalid/db", **PLACE}
GOOD: list[dict[str, str]] = [
    PLACE,
    {"metastore": " FileSystem ", **PLACE},
    {"metastore": "jdbc", **PLACE},
    JDBC,
    {**HIVE, **PLACE},
    REST,
    {**REST, "token": "t", "warehouse": "a name"},
    {"warehouse": "memory://bucket/warehouse"},
    {"MetaStore": "JDBC", "Warehouse": "/tmp/warehouse"},
]
BAD: list[tuple[dict[str, str], str]] = [
    ({"metastore": "nope"}, "'metastore' cannot be 'nope'"),
    ({"metastore": "nope", **PLACE}, "'metastore' cannot be 'nope'"),
    ({"metastore": ""}, "'metastore' cannot be ''"),
    ({}, "needs the option 'warehouse'"),
    ({"warehouse": ""}, "needs the option 'warehouse'"),
    ({"warehouse": "s3:/bucket"}, "is not a URI"),
    ({"warehouse": "memory://"}, "names no bucket"),
    ({"warehouse": "nope://bucket/warehouse"}, "nope://"),
    ({**PLACE, "allowed-mark-done-urls": "nope"}, "allowed-mark-done-urls"),
    ({**PLACE, "Allowed-Mark-Done-URLs": "nope"}, "allowed-mark-done-urls"),
    ({**PLACE, "METASTORE": "nope"}, "'metastore' cannot be 'nope'"),
    ({"metastore": "jdbc"}, "needs the option 'warehouse'"),
    ({"metastore": "jdbc", "warehouse": "memory://bucket"}, "needs the option 'uri'"),
    ({**JDBC, "uri": "postgresql://host/db"}, "'uri' cannot be"),
    ({**JDBC, "client-pool-size": "many"}, "client-pool-size"),
    ({**JDBC, "jdbc.sslmode": "perhaps"}, "jdbc.sslmode"),
    ({"metastore": "hive", **PLACE}, "needs the option 'uri'"),
    (HIVE, "needs the option 'warehouse'"),
    ({**HIVE, **PLACE, "uri": "http://host"}, "'uri' cannot be"),
    ({**HIVE, **PLACE, "lock.enabled": "perhaps"}, "lock.enabled"),
    ({"metastore": "rest"}, "needs the option 'uri'"),
    ({**REST, "uri": "nowhere"}, "'uri' cannot be"),
    ({**REST, "token.provider": "nope"}, "token.provider"),
    ({**REST, "rest.read-timeout": "soon"}, "rest.read-timeout"),
    ({**REST, "allowed-mark-done-urls": "nope"}, "allowed-mark-done-urls"),
]


@pytest.fixture(autouse=True)
def nothing_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("something was asked for")

    monkeypatch.delenv("HIVE_CONF_DIR", raising=False)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("options", GOOD)
def test_what_may_be_right_is_taken_without_asking(options: dict[str, str], tmp_path: Path) -> None:
    if options.get("warehouse") == PLACE["warehouse"]:
        options = {**options, "warehouse": f"{tmp_path}/new"}
    check_options(options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("options", "said"), BAD)
def test_what_cannot_be_opened_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises((InvalidOptionError, UnsupportedFeatureError), match=said):
        check_options(options)


@pytest.mark.parametrize("metastore", METASTORES)
def test_each_kind_needs_some_option(metastore: str) -> None:
    with pytest.raises(PaimonError):
        check_options({"metastore": metastore})


def test_keys_are_in_any_case_but_the_keys_of_storages(tmp_path: Path) -> None:
    given = {"WAREHOUSE": "/elsewhere", "warehouse": str(tmp_path), "DEFAULTdatabase": "d", "fs.oss.accessKeyId": "k"}
    defaults = {"Table-Default.BUCKET": "3", "table-default.File.Format": "orc", "TABLE-DEFAULT.fields.Ab.x": "1"}
    options = load_catalog(given | defaults).options
    assert table_defaults(options) == {"bucket": "3", "file.format": "orc", "fields.Ab.x": "1"}
    own = {"warehouse": str(tmp_path), "defaultDatabase": "d", "fs.oss.accessKeyId": "k"}
    assert {k: v for k, v in options.items() if not k.startswith("table-default.")} == own


@pytest.mark.parametrize("metastore", ["filesystem", "jdbc"])
def test_a_warehouse_as_users_spell_it(metastore: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blanks of a file of settings and `~` would be names of new folders in the working directory."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    spelled = {
        f"{tmp_path}/wh": [
            f" {tmp_path}/wh\t",
            f"{tmp_path}/wh/",
            f"file://{tmp_path}/wh ",
            "../wh",
            f"{tmp_path}//wh",
        ],
        f"{tmp_path}/home/wh": ["~/wh", " ~/wh/ "],
        f"{tmp_path}/home": ["~"],
        f"{tmp_path}/work/~wh": ["~wh"],
        f"{tmp_path}/a#b?c+d %20é": [f"{tmp_path}/a#b?c+d %20é", f"file:{tmp_path}/a#b?c+d %20é"],
    }
    for folder, spellings in spelled.items():
        for warehouse in spellings:
            catalog: Any = load_catalog({"metastore": metastore, "warehouse": warehouse})
            assert catalog.warehouse == folder, warehouse
            catalog.create_database("db", ignore_if_exists=True)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["~wh"]
    with pytest.raises(InvalidOptionError, match="needs the option 'warehouse'"):
        load_catalog({"metastore": metastore, "warehouse": " "})
