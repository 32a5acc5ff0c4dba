"""Regular expressions of users."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.patterns import Pattern
from paimon_core.errors import InvalidOptionError

TEXTS = ["default.orders", "shop.orders", "a\nb", "", "aaa"]


@given(st.sampled_from(["default.*", "shop|default", ".*orders", "a.b", "(?i)SHOP.*", "", "[a-c]+", "a{2,3}", "x*"]))
def test_it_is_as_python_s(text: str) -> None:
    pattern = Pattern.of("including_tables", text)
    assert pattern.matches(TEXTS) == [re.fullmatch(text, t) is not None for t in TEXTS]
    assert pattern.finds(TEXTS) == [re.search(text, t) is not None for t in TEXTS]


@pytest.mark.parametrize("text", ["(", "[", r"(a)\1", "(?=a)", "a)|(b", "*", "a)|(?:b", "\\", "\ud800"])
def test_what_is_not_one(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"including_tables cannot be .* not a regular expression"):
        Pattern.of("including_tables", text)


def test_none_takes_for_ever() -> None:
    assert Pattern.of("including_tables", "(a+)+b").matches(["a" * 10_000]) == [False]


@pytest.mark.parametrize("text", [r"\Qa.b", r"\Qa.\Eb|\Qa.b", r"\\\Qa.b", r"\Qa.b\E", r"\Q", r"x?\Qa.b\\"])
def test_a_quotation_may_be_open(text: str) -> None:
    """As RE2 and Java take it: all that follows is text."""
    pattern = Pattern.of("including_tables", text)
    texts = ["a.b", "axb", "\\a.b", "", "a.b)\\z", "a.b\\\\"]
    whole = [t for t, found in zip(texts, pattern.matches(texts), strict=True) if found]
    assert whole == {
        r"\\\Qa.b": ["\\a.b"],
        r"\Q": [""],
        r"x?\Qa.b\\": ["a.b\\\\"],
    }.get(text, ["a.b"])
