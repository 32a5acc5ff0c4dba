"""What Spark hands to `loadTable`, played by objects that answer as its own do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_sql.spark.tables.catalog import statement_options


class Java:
    """A Java object: it knows the name of its class."""

    def getClass(self) -> Any:
        return SimpleNamespace(getSimpleName=lambda: type(self).__name__)


class SingletonSet(Java):
    """Write privileges."""


@dataclass
class AsOfVersion(Java):
    text: str

    def version(self) -> str:
        return self.text


@dataclass
class AsOfTimestamp(Java):
    moment: int

    def micros(self) -> int:
        return self.moment


@dataclass
class TableContext(Java):
    travel: Any = None

    def timeTravel(self) -> Any:
        return SimpleNamespace(orElse=lambda other: other if self.travel is None else self.travel)


@dataclass
class Options(Java):
    values: dict[str, str] = field(default_factory=dict)


class Jvm:
    """What reads options, in the JVM."""

    def compiled(self, name: str) -> Any:
        assert name == "Entries"
        return SimpleNamespace(options=lambda options: json.dumps(options.values))


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ((), {}),
        (("v1",), {"scan.version": "v1"}),
        (("",), {"scan.version": ""}),
        ((1_700_000_000_123_456,), {"scan.timestamp-millis": "1700000000123"}),
        ((0,), {"scan.timestamp-millis": "0"}),
        ((-1,), {"scan.timestamp-millis": "-1"}),
        ((SingletonSet(),), {}),
        ((TableContext(), Options()), {}),
        ((TableContext(), Options({"bucket": "2"})), {"bucket": "2"}),
        ((TableContext(AsOfVersion("7")), Options()), {"scan.version": "7"}),
        ((TableContext(AsOfVersion("tag")), Options({"x": "y"})), {"scan.version": "tag", "x": "y"}),
        ((TableContext(AsOfTimestamp(1999)), Options({"x": "y"})), {"scan.timestamp-millis": "1", "x": "y"}),
        ((TableContext(AsOfVersion("7")), Options({"scan.version": "6"})), {"scan.version": "7"}),
    ],
)
def test_versions_and_options(context: tuple[Any, ...], expected: dict[str, str]) -> None:
    assert statement_options(Jvm(), context) == expected
