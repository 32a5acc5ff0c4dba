"""Identifier: the name of a table, `database.table`, followed by `$branch_NAME` and `$SYSTEM_TABLE`.

Source: `Identifier` of `org.apache.paimon.catalog`.
"""

from __future__ import annotations

from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidNameError
from paimon_core.lazy import regex
from paimon_core.spec.paths import check_name

_BRANCH = "branch_"
MAIN_BRANCH = "main"
BRANCH_OPTION = "branch"  # the option of a query that names a branch instead of `t$branch_NAME`
_PLAIN = regex(r"[A-Za-z_]\w*(?:\$\w+)*")


def sql_name(*parts: str) -> str:
    """Return a name as SQL spells it: with backquotes around parts that are not plain words, such as `a b`."""
    return ".".join(part if _PLAIN.fullmatch(part) else f"`{part.replace('`', '``')}`" for part in parts)


def sql_string(text: str) -> str:
    """Return a text as SQL spells it, in quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True, slots=True)
class Identifier:
    """The identifier of a table, or of one of its system tables. A `branch` of None stands for the main branch, a
    `system_table` of None for the table itself.
    """

    database: str
    table: str
    branch: str | None = None
    system_table: str | None = None

    @staticmethod
    def of(database: str, name: str) -> Identifier:
        """Return the identifier of `table[$branch_NAME][$SYSTEM_TABLE]` in a database. Raises `InvalidNameError`."""
        check_name("database", database)
        table, *rest = name.split("$")
        check_name("table", table)
        branch = rest.pop(0)[len(_BRANCH) :] if rest and rest[0].startswith(_BRANCH) else None
        if branch is not None:
            check_name("branch", branch)
        if len(rest) > 1 or rest == [""]:
            raise InvalidNameError(
                f"{name!r} is not a valid table name: write one system table after '$', as in t$files."
            )
        return Identifier(database, table, None if branch == MAIN_BRANCH else branch, rest[0] if rest else None)

    @staticmethod
    def parse(text: str) -> Identifier:
        """Parse `database.table…`. Raises `InvalidNameError`."""
        database, dot, name = text.partition(".")
        if not dot:
            raise InvalidNameError(f"{text!r} is not a full table name: write it as database.table.")
        return Identifier.of(database, name)

    @property
    def base(self) -> Identifier:
        """Return the identifier of the table itself."""
        return replace(self, branch=None, system_table=None)

    def on_branch(self, name: str | None) -> Identifier:
        """Return the identifier in a branch, unless it already names a branch."""
        if self.branch is not None or name in (None, MAIN_BRANCH):
            return self
        return replace(self, branch=check_name("branch", str(name)))

    @property
    def database_name(self) -> str:
        """Return the name of the database, for callers that need a name and not a path."""
        return self.database

    @property
    def name(self) -> str:
        """Return the part after the database: the table, followed by branch and system table."""
        suffixes = ([f"{_BRANCH}{self.branch}"] if self.branch else []) + [self.system_table or ""]
        return "$".join([self.table, *filter(None, suffixes)])

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True)
class PathIdentifier(Identifier):
    """A table named by its path. `database` is the parent folder."""

    @staticmethod
    def of_path(path: str) -> PathIdentifier:
        """Return the identifier for the path of a table's folder."""
        folder, _, table = path.rpartition("/")
        return PathIdentifier(folder, table)

    @property
    def database_name(self) -> str:
        return self.database.rpartition("/")[2].removesuffix(".db")

    def __str__(self) -> str:
        return f"{self.database}/{self.name}"
