"""What a change is that nobody answered, and who may ask what became of it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import StorageError, StorageRefusedError, TableNotFoundError
from paimon_sql.catalog.outcomes import OutcomeUnknown, settle

_CATALOG = Path(__file__).parents[3] / "catalog"


def _raising(error: Exception) -> Callable[[], object]:
    def change() -> object:
        raise error

    return change


def _never() -> bool:
    raise AssertionError("nothing is to be looked up")


def test_an_answered_change_is_not_looked_up() -> None:
    made: list[int] = []
    settle(lambda: made.append(1), _never)
    assert made == [1]


def test_a_lost_answer_is_looked_up_once_and_the_change_is_not_made_again() -> None:
    made, looks = [], []

    def change() -> None:
        made.append(1)
        raise OutcomeUnknown("lost")

    settle(change, lambda: looks.append(1) is None)
    assert (made, looks) == ([1], [1])


def test_a_change_that_was_not_made_is_an_error() -> None:
    with pytest.raises(OutcomeUnknown, match="lost"):
        settle(_raising(OutcomeUnknown("lost")), lambda: False)


@pytest.mark.parametrize("error", [StorageRefusedError("refused"), StorageError("unreachable")])
def test_other_errors_are_raised_without_a_look(error: StorageError) -> None:
    with pytest.raises(type(error)):
        settle(_raising(error), _never)


def test_what_fails_while_it_looks_is_raised() -> None:
    with pytest.raises(StorageError, match="unreachable"):
        settle(_raising(OutcomeUnknown("lost")), lambda: bool(_raising(StorageError("unreachable"))()))


def test_an_object_that_the_check_does_not_find_was_not_made() -> None:
    """The caller gets the server's failure, not an error about the object that the check did not find."""
    with pytest.raises(OutcomeUnknown, match="lost"):
        settle(_raising(OutcomeUnknown("lost")), lambda: bool(_raising(TableNotFoundError("no table"))()))


def test_catalogs_settle_lost_answers_in_one_way() -> None:
    """By `settle`: others catch a lost answer only to do something else than to look whether the change was made."""
    others = {
        "hive/locks.py": 2,  # a lock's number is looked up; `unlock` is made again
        "hive/metastore.py": 1,  # reads are made again
        "jdbc/database.py": 1,  # changes that may be made twice
        "jdbc/registry.py": 1,  # the end of a rename, which is settled with its folder
        "outcomes.py": 1,
        "rest/iceberg.py": 1,  # a commit to Iceberg that is looked up by the loop around it
        "rest/iceberg_calls.py": 1,  # the same
        "rest/publishing.py": 1,  # a commit has an error of its own
    }
    found = {}
    for path in sorted(_CATALOG.rglob("*.py")):
        handlers = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.ExceptHandler)]
        count = sum(h.type is not None and "OutcomeUnknown" in ast.unparse(h.type) for h in handlers)
        if count:
            found[path.relative_to(_CATALOG).as_posix()] = count
    assert found == others
