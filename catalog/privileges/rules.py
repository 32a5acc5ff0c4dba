"""The privileges, the objects that they are granted on, and the rules for them, without I/O.

A privilege on the catalog applies to all databases and tables, and a privilege on a database to its tables. Objects
have the names of grants: the empty text for the catalog, `database` and `database.table`.

Source: `PrivilegeType`, `PrivilegeCheckerImpl` of Paimon 2.0.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.rights import GrantedRights, no_privilege
from paimon_core.spec.identifier import Identifier

ROOT, ANONYMOUS = "root", "anonymous"  # the user with all privileges; the user if the options do not name one
WHOLE_CATALOG = ""


class Scope(enum.IntEnum):
    """The kind of an object. A privilege on a narrow kind can also be granted on a wider kind."""

    CATALOG = 0
    DATABASE = 1
    TABLE = 2


class Privilege(enum.Enum):
    """A privilege, with the narrowest kind of object on which it can be granted."""

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
        """Return the privilege with this name. Raises `InvalidOptionError`."""
        try:
            return Privilege[name.strip().upper()]
        except KeyError as error:
            known = ", ".join(p.name for p in Privilege)
            raise InvalidOptionError(f"There is no privilege {name!r}; there are {known}.") from error

    def check_grantable(self, scope: Scope) -> None:
        """Raise `InvalidOptionError` if the privilege cannot be granted on this kind of object."""
        if scope > self.narrowest:
            where = {Scope.CATALOG: "the catalog", Scope.DATABASE: "a database or the catalog"}[self.narrowest]
            raise InvalidOptionError(
                f"Privilege {self.name} can't be granted on a {scope.name.lower()}: grant it on {where}."
            )


@dataclass(frozen=True, slots=True)
class Grants:
    """The privileges of a user by object. The user `root` has every privilege."""

    user: str
    by_object: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def allows(self, privilege: Privilege, name: str) -> bool:
        """Return whether the user has a privilege on an object, or on the database or catalog that contains it."""
        if self.user == ROOT:
            return True
        return any(privilege.name in self.by_object.get(wider, ()) for wider in _with_wider(name))

    def check(self, privilege: Privilege, name: str, kind: str = "table") -> None:
        """Raise `NoPrivilegeError` if the user lacks a privilege. `kind` is the kind of the object, for the error."""
        if not self.allows(privilege, name):
            raise no_privilege(self.user, [privilege.name], kind, name)

    def rights(self, table: Identifier) -> GrantedRights:
        """Return the user's rights on a table or on its branch."""
        name = object_name(table)
        return GrantedRights(self.user, self.allows(Privilege.SELECT, name), self.allows(Privilege.INSERT, name))


def object_name(table: Identifier) -> str:
    """Return the name of a table or view in grants. Branches and system tables have the privileges of their tables."""
    return f"{table.database}.{table.table}"


def is_within(name: str, other: str) -> bool:
    """Return whether an object is another object, or is in it."""
    return other == WHOLE_CATALOG or name == other or name.startswith(f"{other}.")


def _with_wider(name: str) -> Iterator[str]:
    """Yield the object, its database, and the catalog.

    The name of a table may contain dots, the name of a database may not.
    """
    yield name
    database, dot, _ = name.partition(".")
    if dot:
        yield database
    if name:
        yield WHOLE_CATALOG
