"""Users of one warehouse, ours and Java's: each opens what the other made, and refuses what the other refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paimon_core.errors import NoPrivilegeError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.accounts import Accounts
from paimon_sql.catalog.privileges.catalog import accounts_of
from paimon_sql.catalog.privileges.rules import Privilege
from tests.support import stored
from tests.support.java_oracle import JavaError, JavaOracle, find_oracles, make_accounts

T = Identifier("default", "t")


@contextmanager
def java(warehouse: str, user: str, password: str) -> Iterator[JavaOracle]:
    oracles = find_oracles()
    if oracles is None:
        pytest.skip("shared/oracles/java_sql.py is missing in the folders above: set PAIMON_ORACLES to its folder")
    settings = {"spark.sql.catalog.paimon.user": user, "spark.sql.catalog.paimon.password": password}
    oracle = JavaOracle(oracles, warehouse, settings)
    try:
        yield oracle
    finally:
        oracle.close()


def _accounts(warehouse: str) -> Accounts:
    catalog = load_catalog({"warehouse": warehouse, "user": "root", "password": "ü of root"})
    return accounts_of(catalog)


def test_java_asks_our_users(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "wh")
    stored.insert(stored.create_table(warehouse, primary_key="k", bucket="1"), [(1, "a")])
    accounts_of(load_catalog({"warehouse": warehouse})).initialize("ü of root")
    accounts = _accounts(warehouse)
    accounts.create_user("ann", "of ann")
    for privilege, name in (
        (Privilege.SELECT, "default.t"),
        (Privilege.ALTER_TABLE, "default"),
        (Privilege.INSERT, "x"),
    ):
        accounts.grant("ann", name, privilege)
    assert accounts.revoke("ann", "x", Privilege.INSERT) == 1
    with java(warehouse, "ann", "of ann") as oracle:
        assert oracle.sql("SELECT * FROM paimon.default.t").rows == [[1, "a"]]
        for statement, privilege in (
            ("INSERT INTO paimon.default.t VALUES (2, 'b')", "INSERT"),
            ("DROP TABLE paimon.default.t", "DROP_TABLE"),
            ("CREATE TABLE paimon.default.u (k INT)", "CREATE_TABLE"),
        ):
            with pytest.raises(JavaError, match=f"User ann doesn't have privilege {privilege}"):
                oracle.sql(statement)
        oracle.sql("ALTER TABLE paimon.default.t RENAME TO paimon.default.u")  # which writes to our table of grants
    assert ("ann", "USER", "default.u", "SELECT") in _accounts(warehouse).privileges()
    ann = load_catalog({"warehouse": warehouse, "user": "ann", "password": "of ann"})
    assert stored.read(ann.load_table(Identifier("default", "u"))) == [(1, "a")]


def test_we_ask_java_s_users(tmp_path: Path) -> None:
    warehouse = str(tmp_path / "wh")
    if find_oracles() is None:
        pytest.skip("shared/oracles/java_sql.py is missing in the folders above: set PAIMON_ORACLES to its folder")
    table = stored.create_table(warehouse, primary_key="k", bucket="1")
    stored.insert(table, [(1, "a")])
    make_accounts(
        warehouse, "ü of root", "bob", "pass of bob", "SELECT=default", "CREATE_DATABASE=", "DROP_TABLE=default.u"
    )
    bob = load_catalog({"warehouse": warehouse, "user": "bob", "password": "pass of bob"})
    assert stored.read(bob.load_table(T)) == [(1, "a")]
    bob.create_database("mine")
    for act in (lambda: stored.insert(bob.load_table(T), [(2, "b")]), lambda: bob.drop_table(T)):
        with pytest.raises(NoPrivilegeError, match="User bob doesn't have privilege"):
            act()
    with pytest.raises(NoPrivilegeError, match="password incorrect"):
        load_catalog({"warehouse": warehouse, "user": "bob", "password": "pass"}).load_table(T)
    accounts = _accounts(warehouse)
    assert accounts.users() == ["anonymous", "bob", "root"]
    accounts.create_user("cid", "of cid")
    accounts.grant("cid", "default.t", Privilege.INSERT)
    accounts.drop_user("bob")
    with java(warehouse, "cid", "of cid") as oracle:
        oracle.sql("INSERT INTO paimon.default.t VALUES (3, 'c')")
        with pytest.raises(JavaError, match="User cid doesn't have privilege SELECT"):
            oracle.sql("SELECT * FROM paimon.default.t")
    with java(warehouse, "bob", "pass of bob") as oracle, pytest.raises(JavaError, match="bob not found"):
        oracle.sql("SELECT * FROM paimon.default.t")
