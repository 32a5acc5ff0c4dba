"""What the user of a catalog may do with a table, where there is someone who says so: the users of its warehouse
(`paimon_sql.catalog.privileges`), or a catalog's server that is asked before each query (`query-auth.enabled`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from paimon_core.errors import NoPrivilegeError
from paimon_core.expressions.shown import Shown


class Rights(Protocol):
    """What the catalog's user may do with a table. Methods raise `NoPrivilegeError`, and what its server answers."""

    @property
    def of_queries(self) -> bool:
        """Whether the catalog says of each query what it may read, as `query-auth.enabled` demands."""

    def check_select(self, table: str) -> None:
        """Raises where its rows may not be read, or only a part of them."""

    def shown(self, table: str) -> Shown | None:
        """What of its rows may be read, None where that is all. Raises where they may not be read."""

    def check_insert(self, table: str) -> None:
        """Raises where its rows may not be changed."""

    def check_any(self, table: str) -> None:
        """Raises where they may neither be read nor changed."""


@dataclass(frozen=True, slots=True)
class GrantedRights:
    """Whether rows of a table may be read, and changed, by `user`."""

    user: str
    select: bool
    insert: bool
    of_queries: bool = False

    def check_select(self, table: str) -> None:
        if not self.select:
            raise no_privilege(self.user, ["SELECT"], "table", table)

    def shown(self, table: str) -> None:
        self.check_select(table)

    def check_insert(self, table: str) -> None:
        if not self.insert:
            raise no_privilege(self.user, ["INSERT"], "table", table)

    def check_any(self, table: str) -> None:
        if not self.select and not self.insert:
            raise no_privilege(self.user, ["SELECT", "INSERT"], "table", table)


@dataclass(frozen=True, slots=True)
class AskedRights:
    """The rights of whoever goes on where the catalog has been asked: of tasks, and of scans that show what it said."""

    of_queries: bool = True

    def check_select(self, table: str) -> None:
        """Nothing."""

    check_insert = check_any = shown = check_select


def no_privilege(user: str, privileges: Sequence[str], kind: str, name: str) -> NoPrivilegeError:
    """The error of a user who lacks a privilege on an object; `kind` is what the object is."""
    spelled = f"{kind} {name}" if name else f"the {kind}"
    return NoPrivilegeError(
        f"User {user} doesn't have privilege {' or '.join(privileges)} on {spelled}: a user with ADMIN grants it by "
        "CALL sys.grant_privilege_to_user."
    )
