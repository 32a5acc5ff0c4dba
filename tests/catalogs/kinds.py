"""The kinds of catalogs, and what each of them can."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.view import View
from tests.support.tables import fields

SCHEMA = new_table_schema(fields(k=INT, v=STRING), options={"primary-key": "k", "bucket": "1"})
OTHER_SCHEMA = new_table_schema(fields(k=INT, v=STRING, w=INT), options={"primary-key": "k", "bucket": "1"})
VIEW = View(fields=tuple(fields(k=INT, v=STRING)), query="SELECT k, v FROM t", namespace=("db",))
OTHER_VIEW = View(fields=tuple(fields(k=INT)), query="SELECT k FROM t", comment="other", namespace=("db",))


class Can(enum.Enum):
    """What only some catalogs can."""

    DATABASE_PROPERTIES = "keep properties of databases"
    REGISTRATION = "know tables by other means than their folders"
    LOCKS = "lock tables for writers"
    VIEWS = "keep views"
    LONG_VALUES = "keep option values of any length"


CAN: Mapping[str, frozenset[Can]] = {
    "filesystem": frozenset((Can.LONG_VALUES, Can.VIEWS)),
    **dict.fromkeys(
        ("sqlite", "postgresql", "mariadb"),
        frozenset((Can.DATABASE_PROPERTIES, Can.REGISTRATION, Can.LOCKS, Can.VIEWS)),
    ),
}
KINDS = tuple(CAN)
JDBC = KINDS[1:]


@dataclass(frozen=True)
class Place:
    """Where one test's catalog is: whoever opens it with these options sees the same."""

    kind: str
    warehouse: Path
    options: Mapping[str, str]
    open: Callable[[Mapping[str, str]], SupportsDatabases] = field(default=load_catalog, repr=False)

    def can(self, what: Can) -> bool:
        return what in CAN[self.kind]

    def catalog(self, **more: str) -> SupportsDatabases:
        """The catalog, as another process opens it."""
        spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
        return self.open({**self.options, **spelled})

    def folders(self) -> set[str]:
        """The folders of tables that there are, as `database/table`."""
        found = (p for p in self.warehouse.glob("*.db/*") if p.name != "$views")
        return {f"{p.parent.name.removesuffix('.db')}/{p.name}" for p in found}
