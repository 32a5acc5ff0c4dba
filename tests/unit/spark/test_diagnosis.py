"""Which Spark is refused, which tried with a warning, and what a vendor's mixture of versions gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.spark import diagnosis
from paimon_sql.spark.diagnosis import all_hooks, check_spark, diagnose
from paimon_sql.spark.gaps import GAPS, VERSIONS, refused
from paimon_sql.spark.jvm.commands import append, evolving
from paimon_sql.spark.jvm.frame_io import append_command
from paimon_sql.spark.jvm.hooks import Member, hook_of
from paimon_sql.spark.jvm.older.state_options import travels_in_name
from paimon_sql.spark.jvm.older.syntax import INSERT_EVOLUTION

ROOT = Path(__file__).parents[3]


class FakeSpark:
    """A Spark by what it has: all but some members."""

    def __init__(self, version: str, lacks: Callable[[Member], bool] = lambda member: False) -> None:
        self.spark_version, self.lacks = version, lacks

    def probe(self, members: Iterable[Member]) -> None:
        """Nothing to look up."""

    def has(self, member: Member) -> bool:
        return not self.lacks(member)


@pytest.fixture(autouse=True)
def _versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "java_version", lambda _: "17.0.1")


def check(spark: Any) -> list[str]:
    """The warnings of `install` on a Spark."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_spark.__wrapped__(spark)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("version", ["4.0.5", "4.1.1", "4.2.1", "4.3.0", "4.1.1-vendor-7"])
def test_known_versions_are_taken_silently(version: str) -> None:
    assert check(FakeSpark(version)) == []


@pytest.mark.parametrize("version", ["4.4.0", "5.0.0", "3.5.1"])
def test_others_are_tried_with_a_warning(version: str) -> None:
    (said,) = check(FakeSpark(version))
    assert version in said and "doctor" in said


@pytest.mark.parametrize("version", ["4.4.0", "4.1.4"])
def test_a_spark_without_a_hook_is_refused_by_the_names_of_the_hooks(version: str) -> None:
    spark = FakeSpark(version, lambda member: member.name == "byPosition")
    with pytest.raises(
        UnsupportedFeatureError, match=r"jvm/commands\.append needs AppendData\.byPosition\(3 or more\)"
    ):
        check(spark)


def test_the_report_names_each_hook_and_what_does_not_work() -> None:
    found = diagnose(FakeSpark("4.4.0", lambda member: member.name in ("byPosition", INSERT_EVOLUTION.name)))
    text = str(found)
    assert "has not been tested" in text
    assert all(name in text for name, _ in all_hooks())
    assert "MOVED: no AppendData.byPosition" in text
    assert "DELETE, UPDATE and MERGE INTO (jvm/commands.append needs AppendData.byPosition(3 or more))" in text
    assert "INSERT WITH SCHEMA EVOLUTION needs Spark 4.2, and this is 4.4.0: set write.merge-schema" in text


def test_a_vendors_mixture_is_chosen_by_members() -> None:
    """A 4.1 with what 4.2 says of schema evolution: its hooks are those of 4.2, the others stay those of 4.1."""
    spark = FakeSpark("4.1.4", lambda member: member.name == "tableStateOptionKeys")
    assert check(spark) == []
    asked = hook_of(evolving).chosen(spark.has)
    named = hook_of(travels_in_name).chosen(spark.has)
    told = hook_of(append_command).chosen(spark.has)
    assert asked is not None and named is not None and told is not None
    assert (asked.name, named.name, told.name) == ("Spark is asked, too", "in the name of a table", "Spark returns it")
    assert hook_of(append).chosen(spark.has) is not None, "AppendData.byPosition of any arity"


def test_every_hook_says_what_it_needs() -> None:
    assert [name for name, found in all_hooks() if not found.members] == []
    assert [n for n, found in all_hooks() if len({v.name for v in found.variants}) < len(found.variants)] == []


def test_statements_are_refused_in_the_words_of_the_table() -> None:
    lacking = FakeSpark("4.1.4", lambda member: member == INSERT_EVOLUTION)
    said = refused("INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1 AS b", "4.1.4", lacking.has)
    assert said == (
        "INSERT WITH SCHEMA EVOLUTION needs Spark 4.2, and this is 4.1.4: set write.merge-schema, which does the same"
    )
    assert refused("INSERT INTO t SELEKT", "4.1.4", lacking.has) is None
    assert refused("INSERT WITH SCHEMA EVOLUTION INTO t SELEKT", "4.3.0", FakeSpark("4.3.0").has) is None


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def gap_table() -> list[str]:
    """The table of gaps as lines of Markdown."""
    lines = [f"| | {' | '.join(VERSIONS)} | instead |", "|---|" + "---|" * (len(VERSIONS) + 1)]
    for gap in GAPS:
        there = ["yes" if number(version) >= number(gap.since) else "no" for version in VERSIONS]
        lines.append(f"| {gap.what} | {' | '.join(there)} | {gap.instead} |")
    return lines


def test_the_table_of_gaps() -> None:
    assert {gap.since for gap in GAPS} <= set(VERSIONS[1:]), "what no version lacks is no gap"
    assert gap_table()[2].startswith("| INSERT WITH SCHEMA EVOLUTION | no | no | yes | yes |")
    page = "docs/spark-versions.md"
    assert "\n".join(gap_table()) in (ROOT / page).read_text("utf-8"), f"put it into {page}"
