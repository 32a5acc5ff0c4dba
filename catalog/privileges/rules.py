"""The privileges, the objects that they are granted on, and what follows from them. Pure.

A privilege on the catalog holds for all databases and tables, one on a database for its tables. An object is named as
grants name it: the catalog is the empty text, then `database` and `database.table`.

Source: `PrivilegeType`, `PrivilegeCheckerImpl` of Paimon 2.0.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from paimon_core.errors import InvalidOptionError
from paimon_core.rights import GrantedRights, no_privilege
from paimon_core.spec.identifier import Identifier

ROOT, ANONYMOUS = "root", "anonymous"  # the user with all privileges; the user if the options name none
WHOLE_CATALOG = ""


class Scope(enum.IntEnum):
    """The kind of an object; a privilege on a narrow kind can be granted on wider ones."""

    CATALOG = 0
    DATABASE = 1
    TABLE = 2


class Privilege(enum.Enum):
    """A privilege, with the narrowest kind of object that it is granted on."""

    SELECT = ("SELECT", Scope.TABLE)
    INSERT = ("INSERT", Scope.TABLE)
    ALTER_TABLE = ("ALTER_TABLE", Scope.TABLE)
    DROP_TABLE = ("DROP_TABLE", Scope.TABLE)
    CREATE_TABLE = ("CREATE_TABLE", Scope.DATABASE)
    DROP_DATABASE = ("DROP_DATABASE", Scope.DATABASE)
    ALTER_DATABASE = ("ALTER_DATABASE", Scope.DATABASE)
    CREATE_DATABASE = ("CREATE_DATABASE", Scope.CATALOG)
    ADMIN = ("ADMIN", Scope.CATALOG)

    @property
    def narrowest(self) -> Scope:
        return self.value[1]

    @staticmethod
    def named(name: str) -> Privilege:
        """Raises `InvalidOptionError`."""
        try:
            return Privilege[name.strip().upper()]
        except KeyError as error:
            known = ", ".join(p.name for p in Privilege)
            raise InvalidOptionError(f"There is no privilege {name!r}; there are {known}.") from error

    def check_grantable(self, scope: Scope) -> None:
        """Raises `InvalidOptionError` if it cannot be granted on such an object."""
        if scope > self.narrowest:
            where = {Scope.CATALOG: "the catalog", Scope.DATABASE: "a database or the catalog"}[self.narrowest]
            raise InvalidOptionError(
                f"Privilege {self.name} can't be granted on a {scope.name.lower()}: it is granted on {where}."
            )


@dataclass(frozen=True, slots=True)
class Grants:
    """The privileges of a user by object; of `root`, any."""

    user: str
    by_object: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def allows(self, privilege: Privilege, name: str) -> bool:
        """Whether the user has a privilege on an object, or on one that it is in."""
        if self.user == ROOT:
            return True
        return any(privilege.name in self.by_object.get(wider, ()) for wider in _with_wider(name))

    def check(self, privilege: Privilege, name: str, kind: str = "table") -> None:
        """Raises `NoPrivilegeError`; `kind` is what the object is."""
        if not self.allows(privilege, name):
            raise no_privilege(self.user, [privilege.name], kind, name)

    def rights(self, table: Identifier) -> GrantedRights:
        """Return the user's rights on a table, or on a branch of it."""
        name = object_name(table)
        return GrantedRights(self.user, self.allows(Privilege.SELECT, name), self.allows(Privilege.INSERT, name))


def object_name(table: Identifier) -> str:
    """The name of a table or view in grants: branches and system tables have the privileges of their tables."""
    return f"{table.database}.{table.table}"


def is_within(name: str, other: str) -> bool:
    """Whether an object is another, or in it."""
    return other == WHOLE_CATALOG or name == other or name.startswith(f"{other}.")


def _with_wider(name: str) -> Iterator[str]:
    """The object, its database, the catalog. A table's name may have dots, and a database's may not."""
    yield name
    database, dot, _ = name.partition(".")
    if dot:
        yield database
    if name:
        yield WHOLE_CATALOG
