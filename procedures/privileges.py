"""`CALL sys.*` for the users of a warehouse and their privileges.

Source: the procedures of Paimon's Flink connector, with the same names, arguments and results.
"""

from __future__ import annotations

from paimon_core.errors import InvalidOptionError
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog, accounts_of, privileged
from paimon_sql.catalog.privileges.rules import WHOLE_CATALOG, Privilege, Scope
from paimon_sql.procedures.registry import ProcedureContext, Rows, procedure


@procedure(result="string")
def init_file_based_privilege(context: ProcedureContext, root_password: str) -> Rows:
    """Create the users of a warehouse: `root`, with this password and all privileges, and `anonymous`, without any.

    Catalogs that are opened later require the options `user` and `password`; open catalogs continue to work.
    """
    if isinstance(context.catalog, PrivilegedCatalog):
        raise InvalidOptionError(
            "The catalog's warehouse has users already. Open the catalog with the options 'user' and 'password'."
        )
    accounts_of(context.catalog).initialize(root_password)
    return [("Privilege system is successfully enabled. Please drop and re-create the catalog.",)]


@procedure(result="string")
def create_privileged_user(context: ProcedureContext, username: str, password: str) -> Rows:
    """Create a user without privileges. Needs ADMIN.

    The password is stored as a hash; the user passes it as the option `password` of a catalog.
    """
    _administered(context).accounts.create_user(username, password)
    return [(f"User {username} is created without any privileges.",)]


@procedure(result="string")
def drop_privileged_user(context: ProcedureContext, username: str) -> Rows:
    """Drop a user and all privileges of it. Needs ADMIN.

    Catalogs that this user has open are refused access from their next statement on.
    """
    _administered(context).accounts.drop_user(username)
    return [(f"User {username} is dropped.",)]


@procedure(result="string")
def grant_privilege_to_user(
    context: ProcedureContext, user: str, privilege: str, database: str | None = None, table: str | None = None
) -> Rows:
    """Grant a privilege on the catalog, on a database or on a table. Needs ADMIN.

    A privilege on a catalog or database also holds for the databases and tables in it, even for later ones.
    """
    catalog, granted = _administered(context), Privilege.named(privilege)
    name, scope, where = _object(database, table)
    granted.check_grantable(scope)
    catalog.check_object(name, scope)
    catalog.accounts.grant(user, name, granted)
    return [(f"User {user} is granted with privilege {granted.name} on {where}.",)]


@procedure(result="string")
def revoke_privilege_from_user(
    context: ProcedureContext, user: str, privilege: str, database: str | None = None, table: str | None = None
) -> Rows:
    """Revoke a privilege on the catalog, a database or a table, and on everything in it. Needs ADMIN.

    The second line of the result has the number of revoked grants.
    """
    catalog, revoked = _administered(context), Privilege.named(privilege)
    name, _, where = _object(database, table)
    count = catalog.accounts.revoke(user, name, revoked)
    return [
        (f"User {user} is revoked with privilege {revoked.name} on {where}.",),
        (f"Number of privileges revoked: {count}",),
    ]


@procedure(user="string", object="string", privilege="string")
def list_privileges(context: ProcedureContext) -> Rows:
    """Return the privileges of all users, if the caller has ADMIN, else the caller's privileges.

    A row is a user, an object (empty: the catalog) and a privilege.
    """
    catalog = privileged(context.catalog)
    own = catalog.grants
    everything = own.allows(Privilege.ADMIN, WHOLE_CATALOG)
    rows = catalog.accounts.privileges()
    return [(name, thing, privilege) for name, _, thing, privilege in rows if everything or name == own.user]


def _administered(context: ProcedureContext) -> PrivilegedCatalog:
    catalog = privileged(context.catalog)
    catalog.check_admin()
    return catalog


def _object(database: str | None, table: str | None) -> tuple[str, Scope, str]:
    """Return an object's name, its scope, and its name in answers."""
    if database is None:
        if table is not None:
            raise InvalidOptionError("database must be set if privilege is granted at table's granularity.")
        return WHOLE_CATALOG, Scope.CATALOG, "the catalog"
    if table is None:
        return database, Scope.DATABASE, f"database {database}"
    return f"{database}.{table}", Scope.TABLE, f"table {database}.{table}"
