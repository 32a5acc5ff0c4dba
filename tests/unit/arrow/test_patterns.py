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


@pytest.mark.parametrize("text", ["(", "[", r"(a)\1", "(?=a)", "a)|(b", "*"])
def test_what_is_not_one(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"including_tables cannot be .* not a regular expression"):
        Pattern.of("including_tables", text)


def test_none_takes_for_ever() -> None:
    assert Pattern.of("including_tables", "(a+)+b").matches(["a" * 10_000]) == [False]
