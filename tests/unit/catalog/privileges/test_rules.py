"""What follows from grants: a privilege on what is wide holds for what is in it, and for nothing beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import InvalidOptionError, NoPrivilegeError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.privileges.rules import ROOT, WHOLE_CATALOG, Grants, Privilege, Scope, is_within

NAMES = ["", "db", "db.t", "db.t2", "db2", "db2.t", "d", "db.t.x", "other.db"]


def java_allows(by_object: dict[str, frozenset[str]], name: str, privilege: str) -> bool:
    """As `PrivilegeCheckerImpl.check` of Java's: up to the last dot, again and again."""
    if privilege in by_object.get(name, ()):
        return True
    return bool(name) and java_allows(by_object, name[: max(name.rfind("."), 0)], privilege)


@given(
    st.dictionaries(st.sampled_from(NAMES[:6]), st.frozensets(st.sampled_from([p.name for p in Privilege]))),
    st.sampled_from([n for n in NAMES if n.count(".") < 2]),
    st.sampled_from(list(Privilege)),
)
def test_privileges_hold_as_in_java(by_object: dict[str, frozenset[str]], name: str, privilege: Privilege) -> None:
    assert Grants("ann", by_object).allows(privilege, name) == java_allows(by_object, name, privilege.name)
    assert Grants(ROOT, {}).allows(privilege, name)


def test_what_is_within() -> None:
    assert [n for n in NAMES if is_within(n, "db")] == ["db", "db.t", "db.t2", "db.t.x"]
    assert [n for n in NAMES if is_within(n, "db.t")] == ["db.t", "db.t.x"]
    assert [n for n in NAMES if is_within(n, WHOLE_CATALOG)] == NAMES


def test_where_privileges_are_granted() -> None:
    allowed = {p.name: [s.name for s in Scope if s <= p.narrowest] for p in Privilege}
    assert allowed["SELECT"] == ["CATALOG", "DATABASE", "TABLE"] and allowed["CREATE_TABLE"] == ["CATALOG", "DATABASE"]
    assert allowed["ADMIN"] == allowed["CREATE_DATABASE"] == ["CATALOG"]
    with pytest.raises(InvalidOptionError, match="CREATE_TABLE can't be granted on a table"):
        Privilege.CREATE_TABLE.check_grantable(Scope.TABLE)
    with pytest.raises(InvalidOptionError, match="ADMIN can't be granted on a database: grant it on the catalog"):
        Privilege.ADMIN.check_grantable(Scope.DATABASE)
    with pytest.raises(InvalidOptionError, match="no privilege 'FLY'; there are SELECT"):
        Privilege.named("FLY")
    assert Privilege.named(" select ") is Privilege.SELECT


def test_branches_go_by_their_table() -> None:
    rights = Grants("ann", {"db.t": frozenset({"SELECT"})}).rights(Identifier.parse("db.t$branch_b$files"))
    rights.check_select("db.t")
    with pytest.raises(NoPrivilegeError, match=r"User ann doesn't have privilege INSERT on table db\.t"):
        rights.check_insert("db.t")
