"""HDFS that requires Kerberos, with a KDC of this machine (`make campaign NAME=kerberos`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.support import hdfs_server, kerberos

pytestmark = pytest.mark.slow
_ROOT, _USER = Path(__file__).parents[2], "hdfs"
# a process of its own: the library of Kerberos reads the environment once
_PROGRAM = """
import json, sys
from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.tables import fields

name = Identifier("default", "t")
try:
    catalog = load_catalog({"warehouse": sys.argv[1], **json.loads(sys.argv[2])})
    catalog.create_table(name, new_table_schema(fields(k=INT, v=STRING), options={}))
    table = catalog.load_table(name)
    stored.insert(table, [(1, "a")])
    stored.insert(table, [(2, "b" * 1000)])
    print("rows", [(k, len(v)) for k, v in stored.read(table)])
    if len(sys.argv) > 3:
        import hdfs_native
        client = hdfs_native.Client(sys.argv[1], json.loads(sys.argv[2]))
        print("owner", client.get_file_info(table.store.paths.latest_hint.removeprefix(sys.argv[3])).owner)
    catalog.drop_table(name)
except PaimonError as error:
    print("refused", error)
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kerberos.Realm]:
    if hdfs_server.JARS is None:
        pytest.skip("make campaign NAME=kerberos")
    if (reason := kerberos.why_not()) is not None:
        pytest.skip(reason)
    with kerberos.realm(tmp_path_factory.mktemp("realm")) as made:
        made.add(_USER)
        yield made


@pytest.fixture(scope="module", params=["authentication", "privacy"])
def protection(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def url(protection: str, realm: kerberos.Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs_server.hdfs_server(tmp_path_factory.mktemp("hdfs") / "disk", realm, protection) as found:
        yield f"{found}/wh"


def secure(protection: str) -> dict[str, str]:
    """Return the settings that a cluster's site files have."""
    return {"hadoop.security.authentication": "kerberos", "dfs.data.transfer.protection": protection}


def run(
    realm: kerberos.Realm,
    url: str,
    cache: Path,
    options: Mapping[str, str],
    environment: Mapping[str, str] = MappingProxyType({}),
    *words: str,
) -> str:
    own = {"KRB5_CONFIG": str(realm.configuration), "KRB5CCNAME": f"FILE:{cache}", **environment}
    command = [sys.executable, "-c", _PROGRAM, url, json.dumps(options), *words]
    done = subprocess.run(
        command, env={**os.environ, **own}, cwd=_ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("way", ["ticket", "keytab", "keytab of the environment"])
def test_who_may_log_in(realm: kerberos.Realm, url: str, protection: str, tmp_path: Path, way: str) -> None:
    cache, keytab = tmp_path / "ticket", str(realm.folder / f"{_USER}.keytab")
    options, environment = dict(secure(protection)), dict[str, str]()
    if way == "ticket":
        realm.get_ticket(_USER, cache)
    elif way == "keytab":
        login = "security.kerberos.login"
        options |= {f"{login}.principal": f"{_USER}@{kerberos.NAME}", f"{login}.keytab": keytab}
    else:
        environment = {"KRB5_CLIENT_KTNAME": keytab}
    assert run(realm, url, cache, options, environment) == "rows [(1, 1), (2, 1000)]\n"


def test_who_has_no_ticket(realm: kerberos.Realm, url: str, protection: str, tmp_path: Path) -> None:
    said = run(realm, url, tmp_path / "none", secure(protection))
    assert said.startswith("refused ") and "the cluster requires Kerberos: run kinit" in said, said


def test_who_does_not_know_that_the_cluster_is_secure(
    realm: kerberos.Realm, url: str, protection: str, tmp_path: Path
) -> None:
    realm.get_ticket(_USER, tmp_path / "ticket")
    said = run(realm, url, tmp_path / "ticket", {})
    assert said.startswith("refused ") and "'hadoop.security.authentication' = 'kerberos'" in said, said
    said = run(realm, url, tmp_path / "ticket", {"hadoop.security.authentication": "kerberos"})
    assert said.startswith("refused ") and "dfs.data.transfer.protection" in said, said


@pytest.mark.parametrize(
    ("user", "owner", "more"),
    [("hdfs", "hdfs", {}), ("alice", "alice", {}), ("alice", "alice", {"HADOOP_PROXY_USER": "alice"})],
)
def test_tokens_are_enough_without_a_ticket(
    realm: kerberos.Realm, url: str, protection: str, tmp_path: Path, user: str, owner: str, more: Mapping[str, str]
) -> None:
    """The tokens are for the number of the name node's address, the location has its name."""
    environment = {"HADOOP_TOKEN_FILE_LOCATION": str(realm.folder / f"{user}.tokens"), **more}
    root = url.removesuffix("/wh")
    numbers = root.replace("localhost", "127.0.0.1")
    said = run(realm, f"{root}/user/alice/wh", tmp_path / "none", secure(protection), environment)
    assert said == "rows [(1, 1), (2, 1000)]\n"
    said = run(realm, f"{numbers}/user/alice/wh", tmp_path / "none", secure(protection), environment, numbers)
    assert said == f"rows [(1, 1), (2, 1000)]\nowner {owner}\n"


def test_a_proxy_user_acts_by_the_ticket_of_another(
    realm: kerberos.Realm, url: str, protection: str, tmp_path: Path
) -> None:
    realm.get_ticket(_USER, tmp_path / "ticket")
    root, proxy = url.removesuffix("/wh"), {"HADOOP_PROXY_USER": "alice"}
    said = run(realm, f"{root}/user/alice/wh", tmp_path / "ticket", secure(protection), proxy, root)
    assert said == "rows [(1, 1), (2, 1000)]\nowner alice\n"
    realm.add("bob")
    realm.get_ticket("bob", tmp_path / "bob")
    said = run(realm, f"{root}/user/alice/wh", tmp_path / "bob", secure(protection), proxy)
    assert said.startswith("refused ") and "hadoop.proxyuser.USER.hosts" in said, said


def test_tokens_that_cannot_be_used(realm: kerberos.Realm, url: str, protection: str, tmp_path: Path) -> None:
    tokens, damaged = realm.folder / "hdfs.tokens", tmp_path / "damaged"
    damaged.write_bytes(tokens.read_bytes()[:40])
    for path, more, cause in (
        (damaged, {}, "it is not a file of Hadoop's tokens"),
        (tmp_path / "missing", {}, "No such file"),
        (tokens, {"HADOOP_PROXY_USER": "alice"}, "is of hdfs. Unset one of"),
    ):
        environment = {"HADOOP_TOKEN_FILE_LOCATION": str(path), **more}
        said = run(realm, url, tmp_path / "none", secure(protection), environment)
        assert said.startswith("refused ") and cause in said, said
