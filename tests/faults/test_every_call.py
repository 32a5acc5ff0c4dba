"""A few calls of each statement fail. PAIMON_SQL_FAULTS=all or `make campaign NAME=faults`: all fail, in every way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimon_sql.procedures import PROCEDURES
from tests.faults.every_call import Trial, quick, sample
from tests.support.statements import CALLS, READS, STATEMENTS, Statement

ALL = os.environ.get("PAIMON_SQL_FAULTS") == "all"
EACH = 2


@pytest.mark.parametrize("statement", [*STATEMENTS, *READS], ids=lambda s: s.name)
def test_what_is_true_when_a_call_fails(tmp_path: Path, statement: Statement) -> None:
    with quick():
        trial = Trial(statement, tmp_path)
        for k, mode in trial.points() if ALL else sample(trial, EACH):
            trial.check(k, mode)


def test_every_procedure_is_a_statement() -> None:
    of_users = {n for n, p in PROCEDURES.items() if p.body.__module__.endswith(".privileges")}  # one commit each
    assert {s.procedure for s in CALLS} | of_users == set(PROCEDURES)
