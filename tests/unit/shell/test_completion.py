from __future__ import annotations

from types import SimpleNamespace

import pytest

from paimon_sql.shell.completion import Words, fragment
from tests.unit.shell.fakes import FakeFrame, FakeSession

TABLES = FakeFrame({"namespace": "s", "tableName": "s", "isTemporary": "b"}, ("d", "flights", False))
ANSWERS = {
    "SHOW TABLES": TABLES,
    "SHOW TABLES IN nyc": TABLES,
    "SHOW CATALOGS": FakeFrame({"catalog": "s"}, ("paimon",)),
    "SHOW DATABASES": FakeFrame({"namespace": "s"}, ("nyc",)),
    "SHOW DATABASES IN paimon": FakeFrame({"namespace": "s"}, ("nyc",)),
}


@pytest.fixture
def session() -> FakeSession:
    session = FakeSession(ANSWERS)
    columns = {"flights": ["carrier", "origin"], "nyc.flights": ["carrier", "origin"]}
    session.table = lambda name: SimpleNamespace(columns=columns[name])  # type: ignore[attr-defined]
    return session


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("trun", "TRUNCATE"),
        ("SELECT * FROM fli", "flights"),
        ("USE pai", "paimon"),
        ("SHOW TABLES IN ny", "nyc"),
        ("SELECT * FROM nyc.fl", "nyc.flights"),
        ("USE paimon.", "paimon.nyc"),
        ("SELECT * FROM flights WHERE orig", "origin"),
        ("SELECT flights.ca", "flights.carrier"),
        ("CALL sys.compact_d", "sys.compact_database"),
        ("call comp", None),
        ("CREATE TABLE t (k INT) WITH ('bucket' = '1', 'merge-en", "merge-engine"),
        ("ALTER TABLE t SET TBLPROPERTIES ('snapshot.time-r", "snapshot.time-retained"),
        ("SELECT 'merge-en", None),
    ],
)
def test_what_may_come_next(session: FakeSession, text: str, word: str | None) -> None:
    found = Words(session).after(text)
    assert found == [word] if word else found == []


def test_the_word_that_is_replaced() -> None:
    assert [fragment(text) for text in ("a b.c$d", "SELECT ", "(x", "'merge-en")] == ["b.c$d", "", "x", "merge-en"]


def test_each_kind_of_name_is_asked_for_once_and_errors_give_none(session: FakeSession) -> None:
    words = Words(session)
    assert [words.after("SELECT fli"), words.after("SELECT fli")] == [["flights"], ["flights"]]
    assert session.ran.count("SHOW TABLES") == 1
    assert Words(FakeSession({"SHOW TABLES": ValueError("gone")})).after("SELECT fli") == []
