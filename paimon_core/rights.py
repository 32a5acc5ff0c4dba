"""What the user of a catalog may do with a table, where its warehouse has users: `paimon_sql.catalog.privileges`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_core.errors import NoPrivilegeError


@dataclass(frozen=True, slots=True)
class Rights:
    """Whether rows of a table may be read, and changed, by `user`."""

    user: str
    select: bool
    insert: bool

    def check_select(self, table: str) -> None:
        """Raises `NoPrivilegeError`."""
        if not self.select:
            raise no_privilege(self.user, ["SELECT"], "table", table)

    def check_insert(self, table: str) -> None:
        """Raises `NoPrivilegeError`."""
        if not self.insert:
            raise no_privilege(self.user, ["INSERT"], "table", table)

    def check_any(self, table: str) -> None:
        """Raises `NoPrivilegeError` where they may neither be read nor changed."""
        if not self.select and not self.insert:
            raise no_privilege(self.user, ["SELECT", "INSERT"], "table", table)


def no_privilege(user: str, privileges: Sequence[str], kind: str, name: str) -> NoPrivilegeError:
    """The error of a user who lacks a privilege on an object; `kind` is what the object is."""
    spelled = f"{kind} {name}" if name else f"the {kind}"
    return NoPrivilegeError(
        f"User {user} doesn't have privilege {' or '.join(privileges)} on {spelled}: a user with ADMIN grants it by "
        "CALL sys.grant_privilege_to_user."
    )
