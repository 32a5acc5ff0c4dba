"""The users of a warehouse and their privileges, in two Paimon tables that Java shares: `user.sys`, `privilege.sys`.

A password is stored as its SHA-256 without salt, as in Java: anyone with read access to the warehouse can try
passwords. If an object is dropped or a grant is revoked, Java deletes the grants of all objects with names that start
with the object's name: a drop of `db.t` also deletes the grants on `db.t2`. This package deletes only the grants of the
object and of the objects in it.

Source: `FileBasedPrivilegeManager` of Paimon 2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paimon_core.arrow.types import VALUE_KIND, arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import AlreadyExistsError, InvalidOptionError, NoPrivilegeError, NotFoundError
from paimon_core.io.file_io import FileIO
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT
from paimon_core.scan.read import read_split
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BYTES, STRING, DataField
from paimon_core.store.cache import MetadataCache
from paimon_core.store.schemas import latest_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.privileges.rules import ANONYMOUS, ROOT, Privilege
from paimon_sql.catalog.privileges.tables import GRANTS, USERS, has_users
from paimon_sql.catalog.schema_files import publish_schema

if TYPE_CHECKING:
    from hashlib import sha256
    from hmac import compare_digest

    from paimon_core.commit.draft import CommitInfo
    from paimon_core.insert import insert_rows
    from paimon_core.jobs import Job, ResultT, TaskT
    from paimon_core.store.ddl.new_schema import new_table_schema
    from paimon_core.write.writer import open_writer, written
    from paimon_sql.catalog.privileges.rules import Grants, is_within
else:
    sha256 = ImportedOnCall("hashlib", "sha256")  # loads OpenSSL
    compare_digest = ImportedOnCall("hmac", "compare_digest")
    new_table_schema = ImportedOnCall("paimon_core.store.ddl.new_schema", "new_table_schema")
    insert_rows = ImportedOnCall("paimon_core.insert", "insert_rows")
    open_writer = ImportedOnCall("paimon_core.write.writer", "open_writer")
    written = ImportedOnCall("paimon_core.write.writer", "written")
    CommitInfo = ImportedOnCall("paimon_core.commit.draft", "CommitInfo")
    Grants = ImportedOnCall("paimon_sql.catalog.privileges.rules", "Grants")
    is_within = ImportedOnCall("paimon_sql.catalog.privileges.rules", "is_within")

Row = tuple[Any, ...]
_ENTITY = "USER"
_FIELDS = {
    USERS: (("user", STRING), ("sha256", BYTES)),
    GRANTS: (("name", STRING), ("entity_type", STRING), ("identifier", STRING), ("privilege", STRING)),
}
_KEYS = {USERS: ("user",), GRANTS: ("name", "entity_type", "privilege", "identifier")}
_OPTIONS = {USERS: {"bucket": "1", "file.format": "avro"}, GRANTS: {"bucket": "1"}}


class _Here:
    """Runs the compactions of these small tables in this process."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        return job.run_here()


@dataclass(frozen=True, slots=True)
class Account:
    """The user of a catalog, by the catalog's options `user` and `password`."""

    user: str
    sha256: bytes = field(repr=False)

    @staticmethod
    def of(user: str | None, password: str | None) -> Account:
        return Account(ANONYMOUS if user is None else user, _sha256(ANONYMOUS if password is None else password))


@dataclass(frozen=True)
class Accounts:
    """The tables of users and privileges in one warehouse. Every method raises `StorageError`."""

    io: FileIO
    warehouse: str
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    _read: dict[str, tuple[int | None, list[Row]]] = field(default_factory=dict, repr=False, compare=False)

    def enabled(self) -> bool:
        """Return whether the warehouse has users. Raises `StorageError`."""
        return has_users(self.io, self.warehouse)

    def initialize(self, root_password: str) -> None:
        """Create both tables, with the users `root` and `anonymous`. Raises `AlreadyExistsError`."""
        if self.enabled():
            raise AlreadyExistsError(
                f"The warehouse {self.warehouse} has users already. "
                "Open the catalog with the options 'user' and 'password'."
            )
        users = [(ROOT, _sha256(root_password)), (ANONYMOUS, _sha256(ANONYMOUS))]
        if not publish_schema(self._table(USERS, _schema(USERS))) and self._rows(USERS):
            raise AlreadyExistsError(
                f"Another process is creating the users of the warehouse {self.warehouse}, or was interrupted. If "
                f"it was interrupted, delete {self.warehouse}/{USERS}, then try again."
            )
        self._write(USERS, users)
        publish_schema(self._table(GRANTS, _schema(GRANTS)))

    def grants(self, account: Account) -> Grants:
        """Return the present privileges of a user. Raises `NoPrivilegeError` for a wrong password."""
        known = next((row[1] for row in self._rows(USERS) if row[0] == account.user), None)
        if known is None or not compare_digest(known, account.sha256):
            raise NoPrivilegeError(
                f"User {account.user} not found, or password incorrect, in the warehouse {self.warehouse}: give the "
                "catalog the options 'user' and 'password'."
            )
        own: dict[str, set[str]] = {}
        for name, kind, identifier, privilege in self._rows(GRANTS):
            if (name, kind) == (account.user, _ENTITY):
                own.setdefault(identifier, set()).add(privilege)
        return Grants(account.user, {k: frozenset(v) for k, v in own.items()})

    def create_user(self, user: str, password: str) -> None:
        """Create a user. Raises `AlreadyExistsError`, and `InvalidOptionError` for an empty name."""
        if not user:
            raise InvalidOptionError("A user needs a name. Pass username.")
        if self._exists(user):
            raise AlreadyExistsError(f"User {user} already exists.")
        self._write(USERS, [(user, _sha256(password))])

    def drop_user(self, user: str) -> None:
        """Drop a user with all privileges. Raises `InvalidOptionError`, `NotFoundError`."""
        if user in (ROOT, ANONYMOUS):
            raise InvalidOptionError(f"User {user} cannot be dropped: every warehouse with users has it.")
        self._check_exists(user)
        self._write(USERS, [(user, b"")], ROW_DELETE)
        self._delete(lambda row: row[:2] == (user, _ENTITY))

    def grant(self, user: str, name: str, privilege: Privilege) -> None:
        """Grant a privilege on an object. Raises `NotFoundError`, and `InvalidOptionError` for `root`."""
        self._check_changeable(user)
        self._write(GRANTS, [(user, _ENTITY, name, privilege.name)])

    def revoke(self, user: str, name: str, privilege: Privilege) -> int:
        """Revoke a privilege on an object and on everything in it. Return the number of revoked grants.

        Raises the same errors as `grant`, and `NotFoundError` if there is no such grant."""
        self._check_changeable(user)
        count = self._delete(
            lambda row: row[:2] == (user, _ENTITY) and row[3] == privilege.name and is_within(row[2], name)
        )
        if not count:
            where = name or "the catalog"
            raise NotFoundError(
                f"User {user} does not have privilege {privilege.name} on {where}: it may have it on a wider object; "
                "CALL sys.list_privileges() shows all."
            )
        return count

    def renamed(self, old: str, new: str) -> None:
        """Move an object's privileges to its new name, in one commit.

        A later object with the old name has no grants.
        """
        rows = [row for row in self._rows(GRANTS) if row[2] == old]
        moved = [(name, kind, new, privilege) for name, kind, _, privilege in rows]
        self._write(GRANTS, [*rows, *moved], [ROW_DELETE] * len(rows) + [ROW_INSERT] * len(rows))

    def dropped(self, name: str) -> None:
        """Remove all privileges on an object, and on the objects that it contained."""
        self._delete(lambda row: is_within(row[2], name))

    def users(self) -> list[str]:
        """Return the names of the users, sorted."""
        return sorted(row[0] for row in self._rows(USERS))

    def privileges(self) -> list[Row]:
        """Return the grants as rows of user, kind of user, object and privilege, sorted."""
        return sorted(self._rows(GRANTS))

    def _exists(self, user: str) -> bool:
        return any(row[0] == user for row in self._rows(USERS))

    def _check_exists(self, user: str) -> None:
        if not self._exists(user):
            raise NotFoundError(f"User {user} does not exist.")

    def _check_changeable(self, user: str) -> None:
        if user == ROOT:
            raise InvalidOptionError(f"Cannot change privileges of user {ROOT}: it always has all of them.")
        self._check_exists(user)

    # -- the tables ---------------------------------------------------------------------------------------------------
    def _table(self, name: str, schema: TableSchema | None = None) -> Table:
        path = f"{self.warehouse}/{name}"
        found = schema or latest_schema(self.io, path)
        if found is None:
            raise NotFoundError(
                f"The warehouse {self.warehouse} has lost the table of its users, {path}. "
                "Restore its folder from a backup."
            )
        return Table(TableStore.of(self.io, path, found, self.cache))

    def _rows(self, name: str) -> list[Row]:
        """All rows, read again if the latest snapshot has changed."""
        table = self._table(name)
        snapshot = table.latest_snapshot()
        number, columns = (None if snapshot is None else snapshot.id), [f for f, _ in _FIELDS[name]]
        known = self._read.get(name)
        if known is None or known[0] != number or number is None:
            batches = (b for s in table.plan(snapshot).splits for b in read_split(table.store, s, columns))
            found = [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]
            self._read[name] = known = number, found
        return known[1]

    def _delete(self, condition: Callable[[Row], bool]) -> int:
        rows = [row for row in self._rows(GRANTS) if condition(row)]
        self._write(GRANTS, rows, ROW_DELETE)
        return len(rows)

    def _write(self, name: str, rows: Sequence[Row], kinds: int | Sequence[int] = ROW_INSERT) -> None:
        """Write rows in one commit."""
        if not rows:
            return
        table = self._table(name)
        schema = arrow_schema(table.schema.fields)
        arrays = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
        kind = pa.array(np.broadcast_to(np.asarray(kinds, np.int8), len(rows)).copy())
        batch = pa.RecordBatch.from_arrays([kind, *arrays], names=[VALUE_KIND, *schema.names])
        table.check_writable()
        messages = written(open_writer(table.store, sequence_start=table.max_sequence_number() + 1), [batch])
        insert_rows(table, messages, CommitInfo(user=table.new_commit_user()), _Here())


def _schema(name: str) -> TableSchema:
    fields = [DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(_FIELDS[name])]
    return new_table_schema(fields, options=_OPTIONS[name], comment="", primary_keys=_KEYS[name])


def _sha256(text: str) -> bytes:
    return sha256(text.encode()).digest()
