"""Sessions that audit what they write: `SET spark.paimon.wap.branch = NAME` sends their statements on a table with
`write.wap.enabled` to a branch of that name.

Statements that write create the branch if it is missing. Once the branch exists, queries without a version read it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.errors import NotFoundError, UnsupportedFeatureError
from paimon_core.format_table.kind import is_format_table
from paimon_core.maintenance.advance import follow_table
from paimon_core.object_table import is_object_table
from paimon_core.options import WAP_ENABLED
from paimon_core.scan.derived_tables import NAMED_TABLES
from paimon_core.spec.identifier import MAIN_BRANCH, Identifier
from paimon_core.store.branches import open_branch
from paimon_core.table import Table
from paimon_core.versions import create_audit_branch
from paimon_sql.spark.session_bridge import SessionBridge


@dataclass(frozen=True, slots=True)
class Audits:
    """The audited tables of a catalog in a session; `name` is the catalog's name there, `load` loads a table."""

    session: SessionBridge
    name: str
    load: Callable[[Identifier], Table]

    def target(self, identifier: Identifier) -> Identifier:
        """Return the name of the table or branch that a statement changes. Create the branch if it is missing.

        A branch without rows of its own gets the newer snapshots of its table first.
        """
        branch = self._branch(identifier)
        table = None if branch is None else self._audited(identifier)
        if branch is None or table is None:
            return identifier
        if not table.versions.branch_exists(branch):
            create_audit_branch(table.store, table.versions, branch)
        follow_table(table.store, branch, table.publishing(open_branch(table.store, branch)))
        return identifier.on_branch(branch)

    def source(self, identifier: Identifier) -> Identifier:
        """Return the name of the table or branch that a query reads."""
        branch = self._branch(identifier)
        table = None if branch is None else self._audited(identifier)
        is_there = branch is not None and table is not None and table.versions.branch_exists(branch)
        return identifier.on_branch(branch) if is_there else identifier

    def is_audited(self, identifier: Identifier) -> bool:
        """Return whether the session sends its rows for a table to a branch."""
        return self._branch(identifier) is not None and self._audited(identifier) is not None

    def check_replaceable(self, identifier: Identifier) -> None:
        """Raise `UnsupportedFeatureError` if the session audits a table that a statement would replace at once."""
        if self.is_audited(identifier):
            raise UnsupportedFeatureError(
                f"Table {identifier} cannot be replaced while the session audits its rows in branch "
                f"{self._branch(identifier)!r}: a branch cannot take another definition of the table. Write INSERT "
                "OVERWRITE, or RESET spark.paimon.wap.branch first."
            )

    def _branch(self, identifier: Identifier) -> str | None:
        """Return the branch that the session sets for a table; None if the name is a branch or a system table."""
        kind = (identifier.system_table or "").lower()
        if identifier.branch is not None or (kind and kind not in NAMED_TABLES):
            return None
        _, branch = self.session.table_settings(self.name, identifier)
        return None if branch in (None, "", MAIN_BRANCH) else branch

    def _audited(self, identifier: Identifier) -> Table | None:
        """Return the table if its option lets sessions audit it."""
        try:
            table = self.load(replace(identifier, system_table=None))
        except NotFoundError:
            return None
        options = table.schema.options
        is_of_files = is_format_table(options) or is_object_table(options)
        return table if not is_of_files and table.store.options[WAP_ENABLED] else None
