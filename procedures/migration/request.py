"""A call of `migrate_table` in the form that every kind of source takes."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.spec.identifier import Identifier
from paimon_sql.procedures.registry import ProcedureContext

NAMELESS = "A folder does not have a table name: pass target_table, too."


@dataclass(frozen=True, slots=True)
class Migration:
    """The arguments of a call: `source` names the old table or its folder, `target` names the new table. Rows of dry
    runs have the name `work`.
    """

    context: ProcedureContext
    kind: str
    source: str
    target: str | None
    options: Mapping[str, str]
    delete_origin: bool
    work: str

    @property
    def source_name(self) -> Identifier | None:
        """Return the name that the new table takes over from the old one. Return None if the call names the new table,
        or the source is a folder.
        """
        return self.context.named(self.source)[1] if self.target is None and "/" not in self.source else None

    def target_name(self) -> Identifier:
        """Return the name of the new table. Raises `InvalidOptionError` if the call does not name it."""
        name = self.source_name if self.target is None else self.context.identifier(self.target)
        if name is None:
            raise InvalidOptionError(NAMELESS)
        return name
