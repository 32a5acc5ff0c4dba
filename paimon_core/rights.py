"""The rights of a catalog's user on a table. They come from the users of a warehouse (`paimon_sql.catalog.privileges`),
or from a catalog's server, which decides about each query (`query-auth.enabled`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from paimon_core.dataclass import dataclass
from paimon_core.errors import NoPrivilegeError

if TYPE_CHECKING:
    from paimon_core.expressions.shown import Shown


class Rights(Protocol):
    """The rights of the catalog's user on a table. Methods raise `NoPrivilegeError`, or the error in the server's
    answer."""

    @property
    def of_queries(self) -> bool:
        """Return whether the catalog decides for each query which rows it may read, as `query-auth.enabled`
        requires."""

    def check_select(self, table: str) -> None:
        """Raise an error if the user may not read all rows."""

    def shown(self, table: str) -> Shown | None:
        """Return the rows that the user may read, or None for all rows. Raises an error if the user may read no row."""

    def check_insert(self, table: str) -> None:
        """Raise an error if the user may not change rows."""

    def check_any(self, table: str) -> None:
        """Raise an error if the user may neither read nor change rows."""


@dataclass(frozen=True, slots=True)
class GrantedRights:
    """The rights of `user`: whether the user may read rows of a table, and change them."""

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
    """The rights after the catalog has answered: for tasks, and for scans that apply its answer."""

    of_queries: bool = True

    def check_select(self, table: str) -> None:
        """Allow everything."""

    check_insert = check_any = shown = check_select


def no_privilege(user: str, privileges: Sequence[str], kind: str, name: str) -> NoPrivilegeError:
    """Return the error for a user without a privilege on an object. `kind` is the kind of the object."""
    spelled = f"{kind} {name}" if name else f"the {kind}"
    return NoPrivilegeError(
        f"User {user} doesn't have privilege {' or '.join(privileges)} on {spelled}: a user with ADMIN grants it by "
        "CALL sys.grant_privilege_to_user."
    )
