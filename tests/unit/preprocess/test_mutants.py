"""Some of the statements that `python -m tests.fuzz statements` tries."""

from __future__ import annotations

import pytest

from paimon_sql.preprocess import Rewriting
from paimon_sql.preprocess.edits import Edit
from tests.fuzz import statements


def test_mutants_are_read_refused_or_left_to_spark():
    assert "\n".join(map(str, statements.findings(0, range(5_000)))) == ""


def test_mutants_are_the_same_again_and_many():
    again = [statements.mutant(0, number) for number in range(300)]
    assert again == [statements.mutant(0, number) for number in range(300)]
    assert len(set(again)) > 290


def _raises(text):
    raise IndexError(text)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (_raises, "IndexError"),
        (lambda text: Rewriting("\n" + text, [Edit(0, 1, " ")]), "at another place"),
    ],
)
def test_what_is_wrong_is_found(monkeypatch, made, words):
    monkeypatch.setattr(statements, "preprocess", made)
    assert words in str(next(statements.findings(0, range(1))))
