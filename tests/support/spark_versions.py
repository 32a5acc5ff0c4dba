"""The Spark that the tests run on, and marks for tests that need a newer one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pyspark
import pytest

Minor = tuple[int, int]
_T = TypeVar("_T")


def spark_minor() -> Minor:
    """Return the version, such as (4, 3)."""
    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def since(major: int, minor: int, reason: str) -> pytest.MarkDecorator:
    """Mark a test of a feature that an older Spark lacks; there the test must fail."""
    return pytest.mark.xfail(is_before(major, minor), reason=reason, strict=True)


def is_before(major: int, minor: int) -> bool:
    """Whether this Spark is older than a version."""
    return spark_minor() < (major, minor)


def said_by(words: Mapping[Minor, _T]) -> _T:
    """Return this Spark's text from `words`, which has texts by the first version that uses them."""
    return words[max(version for version in words if version <= spark_minor())]
