"""`paimon-sql doctor`: the report, and an exit status that scripts can ask."""

from __future__ import annotations

from dataclasses import replace

import pytest

import paimon_sql
from paimon_sql.shell.main import main
from paimon_sql.spark.diagnosis import Diagnosis, FoundHook, all_hooks
from paimon_sql.spark.workers.versions import SetupFinding


def found(variant: str | None) -> Diagnosis:
    """A Spark in which the first hook has a variant, or has moved."""
    name, hook = all_hooks()[0]
    missing = ("Dataset.gone(0)",) if variant is None else ()
    return Diagnosis("4.4.0", "21.0.1", "3.13.0", (FoundHook(name, hook, variant, missing),), ())


@pytest.mark.parametrize(("variant", "status"), [("", 0), (None, 1)])
def test_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variant: str | None, status: int
) -> None:
    monkeypatch.setattr(paimon_sql, "doctor", lambda: found(variant), raising=False)
    assert main(["doctor"]) == status
    out = capsys.readouterr().out
    assert out.startswith("Spark 4.4.0, Java 21.0.1, Python 3.13.0\n")
    assert ("MOVED: no Dataset.gone(0)" in out) == (status == 1)
    assert ("nothing known" in out) == (status == 0)


@pytest.mark.parametrize("fails", [True, False])
def test_findings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails: bool) -> None:
    sound = found("")
    finding = SetupFinding("executors lack it", "tasks import it", "install it", fails)
    monkeypatch.setattr(paimon_sql, "doctor", lambda: replace(sound, findings=(finding,)), raising=False)
    assert main(["doctor"]) == int(fails)
    assert "  executors lack it\n    why: tasks import it\n    do: install it\n" in capsys.readouterr().out
    assert "nothing to mend" in str(sound)


def test_a_failure_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise RuntimeError("Spark needs Java 17 or later")

    monkeypatch.setattr(paimon_sql, "doctor", fail, raising=False)
    assert main(["doctor"]) == 1
    assert "needs Java" in capsys.readouterr().err
