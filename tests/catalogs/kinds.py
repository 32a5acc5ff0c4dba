"""The kinds of catalogs, and what each of them can."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paimon_core.errors import InvalidNameError
from paimon_core.spec.paths import check_name
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
    FUNCTIONS = "keep functions"
    LONG_VALUES = "keep option values of any length"
    ANY_NAME = "tell names apart by case, and take any characters that folders may have"
    USERS = "have users, in the files of their warehouse"
    LOCATIONS = "have databases and tables outside of their folders"


_SQL = frozenset(
    (Can.DATABASE_PROPERTIES, Can.REGISTRATION, Can.LOCKS, Can.ANY_NAME, Can.VIEWS, Can.FUNCTIONS, Can.USERS)
)
CAN: Mapping[str, frozenset[Can]] = {
    "filesystem": frozenset((Can.LONG_VALUES, Can.ANY_NAME, Can.VIEWS, Can.FUNCTIONS, Can.USERS)),
    **dict.fromkeys(("sqlite", "postgresql", "mariadb"), _SQL),
    "rest": _SQL - {Can.LOCKS, Can.USERS} | {Can.LONG_VALUES},
    "hive": _SQL - {Can.ANY_NAME, Can.FUNCTIONS} | {Can.LONG_VALUES, Can.LOCATIONS},
}
KINDS = tuple(CAN)
JDBC = ("sqlite", "postgresql", "mariadb")


def is_no_name(name: str) -> bool:
    """Whether no catalog can have such a name."""
    try:
        check_name("table", name)
    except InvalidNameError:
        return True
    return False


@dataclass(frozen=True)
class Place:
    """Where one test's catalog is: whoever opens it with these options sees the same."""

    kind: str
    warehouse: Path
    options: Mapping[str, str]
    open: Callable[[Mapping[str, str]], SupportsDatabases] = field(default=load_catalog, repr=False)
    default: Path | None = None  # the folder of the database `default`, where it is not in the warehouse
    server: Any = field(default=None, repr=False)

    def can(self, what: Can) -> bool:
        return what in CAN[self.kind]

    def check_name(self, kind: str, name: str) -> str:
        """Raises `InvalidNameError` for a name that the catalog does not give."""
        if not self.can(Can.ANY_NAME) and not (name.isascii() and re.fullmatch(r"\w{1,128}", name)):
            raise InvalidNameError(name)
        return check_name(kind, name)

    def catalog(self, **more: str) -> SupportsDatabases:
        """The catalog, as another process opens it."""
        spelled = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
        return self.open({**self.options, **spelled})

    def folders(self) -> set[str]:
        """The folders of tables that there are, as `database/table`."""
        tables = (p for p in self.warehouse.glob("*.db/*") if p.name not in ("$views", "$functions"))
        found = {f"{p.parent.name.removesuffix('.db')}/{p.name}" for p in tables}
        return found | {f"default/{p.name}" for p in (self.default.iterdir() if self.default else ())}

    def expire_locks(self, dead: SupportsDatabases) -> None:
        """What a minute does, or as long as the locks of a catalog live that a dead process has opened."""
        if self.kind == "hive":
            self.server.free_locks()
        elif self.can(Can.LOCKS):
            database = dead.__dict__["_database"]
            getattr(database, "inner", database).write(
                lambda c: c.exec_driver_sql("DELETE FROM paimon_distributed_locks")
            )
