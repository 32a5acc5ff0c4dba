"""The Spark that the tests run on, and tests that ask for what only some have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pyspark
import pytest

Minor = tuple[int, int]
_T = TypeVar("_T")


def spark_minor() -> Minor:
    """As (4, 3)."""
    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def since(major: int, minor: int, reason: str) -> pytest.MarkDecorator:
    """Marks a test of what an older Spark does not do, which has to fail there."""
    return pytest.mark.xfail(is_before(major, minor), reason=reason, strict=True)


def is_before(major: int, minor: int) -> bool:
    """Whether this Spark is older than a version."""
    return spark_minor() < (major, minor)


def said_by(words: Mapping[Minor, _T]) -> _T:
    """What this Spark says, of words by the first version that says them."""
    return words[max(version for version in words if version <= spark_minor())]
