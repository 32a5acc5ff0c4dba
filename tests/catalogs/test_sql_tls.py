"""SQL databases behind TLS: what is asked to be verified is, and nothing is sent where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, StorageError
from paimon_sql.catalog.load import load_catalog
from tests.support.sql_servers import SqlServer, start_mariadb, start_postgres

pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')

_START: Mapping[str, tuple[Callable[..., SqlServer | str], str]] = {
    "postgresql": (start_postgres, "psycopg"),
    "mariadb": (start_mariadb, "pymysql"),
}
_CA = {"postgresql": "jdbc.sslrootcert", "mariadb": "jdbc.serverSslCert"}


@pytest.fixture(scope="module", params=_START)
def server(request: pytest.FixtureRequest) -> Iterator[SqlServer]:
    start, driver = _START[request.param]
    pytest.importorskip(driver, reason='needs pip install "paimon-sql[all]"')
    found = start(tls=True)
    if isinstance(found, str):
        pytest.skip(found)
    yield found
    found.remove()


@pytest.fixture
def encrypted(server: SqlServer, tmp_path: Path) -> Callable[..., bool]:
    """Whether a catalog of some options speaks through TLS, with the server at a host."""

    def look(host: str = "localhost", *, trusting: bool = False, **given: str) -> bool:
        spelled = {f"jdbc.{name}": value for name, value in given.items()}
        if trusting:
            spelled[_CA[server.kind]] = str(server.folder / "cert.pem")
        uri = server.options["uri"].replace("127.0.0.1", host)
        catalog: Any = load_catalog({**server.options, "warehouse": str(tmp_path / "wh"), **spelled, "uri": uri})
        try:
            return bool(catalog._database.read(_is_encrypted(server.kind)))
        finally:
            catalog.close()

    return look


def _is_encrypted(kind: str) -> Callable[[Any], Any]:
    if kind == "postgresql":
        asked = "SELECT CASE WHEN ssl THEN 'yes' ELSE '' END FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        return lambda c: c.exec_driver_sql(asked).scalar()
    return lambda c: c.exec_driver_sql("SHOW STATUS LIKE 'Ssl_cipher'").fetchone()[1]


@pytest.mark.parametrize("given", [{"ssl": "true"}, {"ssl": ""}, {"sslmode": "verify-full"}, {"sslmode": "verify-ca"}])
def test_a_certificate_that_nobody_vouches_for_is_refused(
    encrypted: Callable[..., bool], given: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StorageError, match="certificate"):
        encrypted(**given)
    assert encrypted(trusting=True, **given)


def test_a_certificate_is_the_servers_own(encrypted: Callable[..., bool]) -> None:
    with pytest.raises(StorageError, match="certificate"):
        encrypted("127.0.0.1", trusting=True, sslmode="verify-full")
    assert encrypted("127.0.0.1", trusting=True, sslmode="verify-ca")


def test_encryption_that_verifies_nothing_has_to_be_asked_for(encrypted: Callable[..., bool]) -> None:
    assert encrypted(sslmode="require") and not encrypted(sslmode="disable")


@pytest.mark.parametrize("kind", _START)
def test_a_mode_that_there_is_not(kind: str, tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:{kind}://h/d", "warehouse": str(tmp_path), "jdbc.sslmode": "verify"}
    with pytest.raises(InvalidOptionError, match="'jdbc.sslmode' cannot be 'verify': it is one of disable, .*-full"):
        load_catalog(options)
