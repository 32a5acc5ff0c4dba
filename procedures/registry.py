"""The registry of procedures: typed functions. `CALL` and the docs need only their signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import tzinfo
from types import ModuleType, UnionType
from typing import Any, NewType, Protocol, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidNameError, InvalidOptionError
from paimon_core.format_table.kind import is_format_table
from paimon_core.format_table.table import refuse_format_table
from paimon_core.jobs import Executor as JobExecutor
from paimon_core.maintenance.orphans.job import FoundFiles, OrphanSearch
from paimon_core.maintenance.running import Announcement
from paimon_core.object_table import is_object_table, refuse_object_table
from paimon_core.progress import showing
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import DataField
from paimon_core.table import Table
from paimon_core.write.compaction.sort_job import SortJob
from paimon_sql.catalog.base import Catalog, SupportsDatabases
from paimon_sql.catalog.listing import tables_of

_NAME_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^`.]+)")
Rows = Sequence[tuple[Any, ...]]  # rows of a result
# the columns of a dry run: what a procedure would rewrite or delete
DRY_RUN = (
    *(("work", "string"), ("partition", "string"), ("bucket", "int")),
    *(("files", "bigint"), ("bytes", "bigint"), ("rows", "bigint"), ("result", "string")),
)
Int = NewType("Int", int)  # an argument of Spark's type INT; a plain int stands for BIGINT
# procedures that may take long and change a table: `t$running` shows them
_UPKEEP = frozenset(
    ("compact", "compact_chain_table", "compact_manifest", "create_global_index", "expire_changelogs")
    + (
        "expire_partitions",
        "expire_snapshots",
        "materialize_deletion_vectors",
        "merge_branch",
        "purge_files",
        "reassign_row_id",
        "rescale",
    )
    + ("remove_unexisting_files", "rewrite_file_index")
)
_SQL_TYPES = {str: "string", int: "bigint", Int: "int", bool: "boolean", dict[str, str]: "map<string,string>"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTable:
    """A table of another engine: files of one format in a folder; `options` are the options of the format."""

    format: str
    location: str
    fields: Sequence[DataField]
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


class ProcedureExecutor(JobExecutor, Protocol):
    """Runs the heavy work of a procedure, and evaluates SQL."""

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> FoundFiles:
        """Return the files that a search finds and that no version needs."""

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        """Return the numbers of the rows that satisfy an SQL condition on their columns."""

    def foreign_table(self, database: str, name: str) -> ForeignTable | None:
        """Return a table of the session's own catalog; None if it does not exist. Raises `UnsupportedFeatureError` for
        other formats.
        """

    def foreign_tables(self, database: str) -> list[str] | None:
        """Return the tables of a database of the session's own catalog; None if there is no such database."""

    def drop_foreign_table(self, database: str, name: str) -> None:
        """Drop a table of the session's own catalog."""

    def folder_of_files(self, file_format: str, location: str, options: Mapping[str, str]) -> ForeignTable:
        """Return files of one format as a table, with the columns in the files and in the names of folders."""

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        """Sort the rows of a job and write them; the caller commits."""


@dataclass(frozen=True, slots=True)
class ProcedureContext:
    """The catalog and session in which a procedure runs.

    `announcement` shows the procedure as running work of the table that it loads; None shows nothing.
    `zone` is the time zone of times without one, None for this process's zone. `name` is the catalog's name in the
    session, `other_catalog` finds another Paimon catalog by its name. If `case_sensitive`, `id` and `ID` are two
    columns.
    """

    catalog: SupportsDatabases
    database: str
    executor: ProcedureExecutor
    zone: tzinfo | None = None
    name: str = "paimon"
    other_catalog: Callable[[str], SupportsDatabases | None] = lambda name: None
    case_sensitive: bool = False
    announcement: Announcement | None = None

    def load_table(self, name: str) -> Table:
        """Load a table by `table`, `db.table` or `catalog.db.table`. Raises `TableNotFoundError`,
        `InvalidNameError`.
        """
        found = load_table(self.catalog, self.identifier(name)).in_zone(self.zone)
        if self.announcement is not None:
            self.announcement.begin(found.store)
        return found

    def tables(self, database: str) -> list[Identifier]:
        """Return the tables of a database, sorted: tables with snapshots, and tables that cannot be loaded.

        Raises `DatabaseNotFoundError`.
        """
        return tables_of(self.catalog, database, formats=False)

    def identifier(self, name: str) -> Identifier:
        """Parse the name of a table of this catalog. Raises `InvalidNameError`, also for other catalogs."""
        catalog, identifier = self.named(name)
        if catalog not in (None, self.name):
            raise InvalidNameError(
                f"{name!r} is in catalog {catalog!r}, but the procedure was called in {self.name!r}: call "
                f"{catalog}.sys, or leave the catalog out."
            )
        return identifier

    def find(self, name: str) -> tuple[SupportsDatabases, Identifier]:
        """Return the catalog and the table of a name, in any Paimon catalog of the session. Raises
        `InvalidNameError`.
        """
        name_of_catalog, identifier = self.named(name)
        if name_of_catalog in (None, self.name):
            return self.catalog, identifier
        catalog = self.other_catalog(str(name_of_catalog))
        if catalog is None:
            raise InvalidNameError(
                f"{name!r} cannot be found: {name_of_catalog!r} is not a Paimon catalog of this session. "
                "Name a Paimon catalog."
            )
        return catalog, identifier

    def named(self, name: str) -> tuple[str | None, Identifier]:
        """Return the catalog in a table name (None if the name has none), and the table. Raises `InvalidNameError`."""
        parts = list(_NAME_PART.finditer(name))
        if ".".join(p[0] for p in parts) != name or not 1 <= len(parts) <= 3:
            raise InvalidNameError(f"{name!r} is not a valid table name: write it as table, or as database.table.")
        names = [p["plain"] or p["quoted"].replace("``", "`") for p in parts]
        identifier = Identifier.of(names[-2] if len(names) > 1 else self.database, names[-1])
        return (names[0] if len(names) == 3 else None), identifier


def quoted(identifier: Identifier) -> str:
    """Return a table's name as the arguments of procedures spell it."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in (identifier.database, identifier.name))


def has_table(catalog: SupportsDatabases, identifier: Identifier) -> bool:
    """Return whether a table exists; False also if its database does not exist."""
    return catalog.database_exists(identifier.database) and catalog.table_exists(identifier)


def load_table(catalog: Catalog, identifier: Identifier) -> Table:
    """Load a table with snapshots. Raises `TableNotFoundError`, or `InvalidNameError` for a system table."""
    if identifier.system_table is not None:
        raise InvalidNameError(f"{str(identifier)!r} is a system table: name the table itself.")
    table = catalog.load_table(identifier)
    if is_format_table(table.schema.options):
        raise refuse_format_table(table.name)
    if is_object_table(table.schema.options):
        raise refuse_object_table(table.name)
    if table.store.rights is not None:
        table.store.rights.check_any(table.name)
    return table


class DryRunRows(tuple[tuple[Any, ...], ...]):
    """The rows of a dry run, which have the columns `DRY_RUN`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument; `type` as SQL spells it."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure `sys.name`; `columns` are the names and SQL types of its result."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    columns: tuple[tuple[str, str], ...]
    body: Callable[..., Rows]

    def call(self, context: ProcedureContext, arguments: Mapping[str, Any]) -> Rows:
        """Run the procedure and return the rows of its result. Arguments that are not given have their defaults.

        Raises `InvalidOptionError` if an argument without a default is missing or NULL.
        """
        missing = [p.name for p in self.parameters if p.required and p.name not in arguments]
        if missing:
            raise InvalidOptionError(f"{self.name} needs a value for {', '.join(missing)}, not NULL.")
        if self.name not in _UPKEEP or arguments.get("dry_run"):
            return self.body(context, **arguments)
        announcement = Announcement(self.name)
        try:
            with showing(announcement):
                return self.body(replace(context, announcement=announcement), **arguments)
        finally:
            announcement.end()

    def columns_of(self, rows: Rows) -> tuple[tuple[str, str], ...]:
        """Return the columns of rows that `call` has returned."""
        return DRY_RUN if isinstance(rows, DryRunRows) else self.columns


_ARROW_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}


def result_table(columns: Sequence[tuple[str, str]], rows: Rows) -> pa.Table:
    """Return the rows of a result as columns, which have names and SQL types."""
    arrays = [pa.array([row[i] for row in rows], _ARROW_TYPES[kind]) for i, (_, kind) in enumerate(columns)]
    return pa.table(arrays, names=[name for name, _ in columns])


def procedure(**columns: str) -> Callable[[Callable[..., Rows]], Procedure]:
    """Turn a function `(context, argument, …) -> rows` into a procedure.

    `columns` are the columns of the result. A statement without a result has no columns and no rows.
    """

    def make(function: Callable[..., Rows]) -> Procedure:
        hints = get_type_hints(function)
        arguments = list(inspect.signature(function).parameters.values())[1:]
        parameters = tuple(
            Parameter(a.name, _sql_type(hints[a.name]), a.default is inspect.Parameter.empty) for a in arguments
        )
        summary = inspect.getdoc(function) or function.__name__
        return Procedure(function.__name__, summary, parameters, tuple(columns.items()), function)

    return make


def procedures_of(*modules: ModuleType) -> dict[str, Procedure]:
    """Return the procedures of modules, by name. Raises `ValueError` for two procedures of the same name."""
    made = [
        p for m in modules for p in vars(m).values() if isinstance(p, Procedure) and p.body.__module__ == m.__name__
    ]
    by_name = {p.name: p for p in made}
    if len(by_name) < len(made):
        raise ValueError(f"Two procedures have the same name, of {sorted(p.name for p in made)}.")
    return by_name


def _sql_type(hint: Any) -> str:
    optional = get_origin(hint) in (Union, UnionType)
    kinds = [t for t in (get_args(hint) if optional else (hint,)) if t is not type(None)]
    return _SQL_TYPES[kinds[0]]
