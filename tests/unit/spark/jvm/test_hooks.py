"""Which variant of a hook a Spark gets: by its members, not by its number."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_sql.spark.jvm.hooks import Hook, Member, Variant, constructor, field, grammar, hook, hook_of, method, python

NEW, OLD = method("a.B", "tells", 0), field("a.B", "kept")
TELLS, MADE = Variant.of("tells", NEW), Variant.of("made", OLD, constructor("a.C", 3))


def has(*members: Member) -> Callable[[Member], bool]:
    """A Spark that has some members."""
    return lambda member: member in members


@hook("`B.tells`", "everything", TELLS, MADE)
def varied() -> None:
    """A hook of two variants."""


@hook("`B.tells`", "everything", NEW)
def plain() -> None:
    """A hook of one."""


def test_the_first_variant_whose_members_are_there_is_chosen() -> None:
    found = hook_of(varied)
    assert found.chosen(has(NEW, *MADE.needs)) is TELLS
    assert found.chosen(has(*MADE.needs)) is MADE
    assert found.chosen(has(OLD)) is None


def test_what_is_missing_is_that_of_the_closest_variant() -> None:
    found = hook_of(varied)
    assert found.missing(has(OLD)) == (NEW,)
    assert found.missing(has(NEW)) == ()
    assert hook_of(plain).missing(has()) == (NEW,)
    assert found.members == {NEW, OLD, constructor("a.C", 3)}


def test_a_hook_without_variants_has_one_without_a_name() -> None:
    assert hook_of(plain) == Hook("`B.tells`", "everything", (Variant("", (NEW,)),))


def test_variants_say_all_that_they_need() -> None:
    with pytest.raises(AssertionError):
        hook("a", "b", NEW, TELLS)


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (NEW, "B.tells(0)"),
        (method("a.B", "m", 3, fits=True), "B.m(3 or more)"),
        (method("a.B", "m"), "B.m(…)"),
        (constructor("a.C", 2), "C(2)"),
        (OLD, "B.kept"),
        (grammar("SELECT 1"), "the syntax SELECT 1"),
        (python("pyspark.sql", "DataFrame.x"), "pyspark.sql.DataFrame.x"),
    ],
)
def test_members_are_named_in_messages(member: Member, text: str) -> None:
    assert str(member) == text
