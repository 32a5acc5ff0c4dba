"""A metastore that asks for Kerberos, and a realm of this machine: `make campaign NAME=kerberos`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import PaimonError, StorageError, StorageRefusedError
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import SCHEMA, VIEW
from tests.support import kerberos
from tests.support.hive_server import HAS_LOCKS, HiveServer, start_hive
from tests.support.kerberos import Realm
from tests.support.stored import insert, read
from tests.support.waiting import PATIENCE

for package in ("pymetastore", "gssapi"):
    pytest.importorskip(package, reason='needs pip install "paimon-sql[hive-kerberos]"')
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(kerberos.why_not() is not None, reason=str(kerberos.why_not())),
]

T, U, V = (Identifier("db", name) for name in "tuv")
ROWS = [(1, "a"), (2, "b")]
REALM = kerberos.NAME
SERVICE = f"hive/localhost@{REALM}"
# of Java: Hadoop asks for the realm's name where no module exports it
_OPENED = ("--add-opens", "java.security.jgss/sun.security.krb5=ALL-UNNAMED")
_SITE = """<configuration>
<property><name>hadoop.security.authentication</name><value>kerberos</value></property>
<property><name>hadoop.rpc.protection</name><value>{protection}</value></property>
</configuration>"""


@dataclass(frozen=True)
class Office:
    """A metastore in a realm where `ann` is known, too."""

    realm: Realm
    server: HiveServer

    def catalog(self, warehouse: Path, **more: str) -> Any:
        given = {
            **self.server.options,
            "warehouse": str(warehouse),
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": f"hive/_HOST@{REALM}",
        }
        return load_catalog(given | {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()})


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with kerberos.realm(tmp_path_factory.mktemp("realm")) as made:
        for principal in ("hive/localhost", "other/localhost", "ann"):
            made.add(principal)
        yield made


@pytest.fixture(scope="module", params=["authentication", "integrity", "privacy"])
def office(request: pytest.FixtureRequest, realm: Realm) -> Iterator[Office]:
    """With each protection of what is sent that Hadoop has."""

    def prepare(server: HiveServer) -> None:
        server.host = "localhost"
        server.java_options = (f"-Djava.security.krb5.conf={realm.configuration}", *_OPENED)
        server.settings |= {
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": SERVICE,
            "hive.metastore.kerberos.keytab.file": str(realm.folder / "hive.localhost.keytab"),
        }
        (server.folder / "conf" / "core-site.xml").write_text(_SITE.format(protection=request.param))

    server = start_hive(prepare)
    if isinstance(server, str):
        pytest.skip(server)
    yield Office(realm, server)
    server.remove()


@pytest.fixture
def cache(realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process's ticket is looked for; there is none yet."""
    monkeypatch.setenv("KRB5_CONFIG", str(realm.configuration))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'ticket'}")
    monkeypatch.delenv("KRB5_CLIENT_KTNAME", raising=False)
    return tmp_path / "ticket"


@pytest.fixture
def ticket(realm: Realm, cache: Path) -> None:
    realm.get_ticket("ann", cache)


def until_refused(ask: Callable[[], object]) -> PaimonError:
    """The error that there is after some seconds: clocks may differ by one."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            ask()
        except PaimonError as error:
            return error
        time.sleep(0.2)
    raise AssertionError("it answers for ever")


@pytest.mark.usefixtures("ticket")
def test_a_catalog(office: Office, tmp_path: Path) -> None:
    catalog = office.catalog(tmp_path, lock__enabled=str(HAS_LOCKS).lower())
    catalog.create_database("db")
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    with pytest.raises(PaimonError, match=r"db\.t already exists"):
        catalog.create_table(T, SCHEMA)
    catalog.alter_table(T, [SetOption("snapshot.num-retained.min", "3")])
    catalog.create_view(V, VIEW)
    catalog.rename_table(T, U)
    other = office.catalog(tmp_path)
    assert sorted(read(other.load_table(U))) == ROWS
    assert other.load_table(U).schema.options["snapshot.num-retained.min"] == "3"
    assert (other.list_tables("db"), other.list_views("db")) == (["u"], ["v"])
    assert other.list_databases() == ["db", "default"]
    other.drop_table(U)
    assert catalog.list_tables("db") == []
    catalog.drop_database("db", cascade=True)
    assert other.list_databases() == ["default"] and not list(tmp_path.glob("db.db/*"))
    for made in (catalog, other):
        made.close()


@pytest.mark.usefixtures("ticket")
def test_what_is_longer_than_a_frame(office: Office, tmp_path: Path) -> None:
    """Java takes 64 KiB of protected bytes at once, and sends more."""
    catalog = office.catalog(tmp_path)
    catalog.create_database("db")
    values = {f"note-{n}": f"{n}" * 30_000 for n in range(8)}
    catalog.create_table(T, new_table_schema(SCHEMA.fields, options=values))
    held = catalog._metastore.table("db", "t").parameters
    assert {name: held[name] for name in values} == values
    catalog.drop_database("db", cascade=True)
    catalog.close()


def test_no_ticket(office: Office, cache: Path, tmp_path: Path) -> None:
    catalog = office.catalog(tmp_path)
    with pytest.raises(
        StorageRefusedError, match=rf"asks for Kerberos, and this process has no ticket \(.*{cache}.*kinit"
    ):
        catalog.list_databases()
    office.realm.get_ticket("ann", cache)  # the same catalog goes on
    assert catalog.list_databases() == ["default"]
    catalog.close()


def test_a_ticket_that_has_ended(office: Office, cache: Path, tmp_path: Path) -> None:
    """Connections that are open go on, as those of Java do; a new one says what to do."""
    office.realm.get_ticket("ann", cache, "-l", "3s")
    catalog = office.catalog(tmp_path)
    assert catalog.list_databases() == ["default"]
    office.realm.await_end_of(cache)
    error = until_refused(lambda: office.catalog(tmp_path).list_databases())
    assert isinstance(error, StorageRefusedError)
    assert "this process's ticket has expired. Get one with `kinit`" in str(error)
    assert catalog.list_databases() == ["default"]
    catalog.close()


def test_a_keytab_of_the_client(office: Office, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(office.realm.folder / "ann.keytab"))
    assert office.catalog(tmp_path).list_databases() == ["default"]
    assert cache.exists()


@pytest.mark.usefixtures("ticket")
def test_a_principal_on_another_host_than_the_address(office: Office, tmp_path: Path) -> None:
    by_number = office.server.uri.replace("localhost", "127.0.0.1")
    named = office.catalog(tmp_path, uri=by_number, hive__metastore__kerberos__principal=SERVICE)
    assert named.list_databases() == ["default"]


@pytest.mark.usefixtures("ticket")
@pytest.mark.parametrize(
    ("principal", "said"),
    [
        (f"hive/nowhere@{REALM}", f"no trust between this process and hive/nowhere@{REALM}: Server .* not"),
        ("hive/localhost@ELSEWHERE.TEST", "krbtgt/ELSEWHERE.TEST.* not found in Kerberos database"),
        (f"other/localhost@{REALM}", f"it refused the ticket for other/localhost@{REALM}: GSS initiate"),
    ],
)
def test_principals_that_are_not_the_metastore(office: Office, tmp_path: Path, principal: str, said: str) -> None:
    catalog = office.catalog(tmp_path, hive__metastore__kerberos__principal=principal)
    with pytest.raises(StorageError, match=f"{said}.*Check 'hive.metastore.kerberos.principal'"):
        catalog.list_databases()


@pytest.mark.usefixtures("ticket")
def test_only_one_side_asks_for_kerberos(office: Office, tmp_path: Path) -> None:
    without = office.catalog(tmp_path, hive__metastore__sasl__enabled="false")
    with pytest.raises(StorageError, match=r"closed the connection.*does not ask for Kerberos \('hive\.m"):
        without.list_databases()
    plain = start_hive()
    assert isinstance(plain, HiveServer)
    try:
        catalog = office.catalog(tmp_path, uri=plain.uri, hive__metastore__kerberos__principal=SERVICE)
        with pytest.raises(StorageError, match=r"that it does ask for Kerberos \('hive\.metastore\.sasl\.enabled'\)"):
            catalog.list_databases()
    finally:
        plain.remove()
