"""Queries in SQL without Spark: DuckDB runs them, and reads tables through scans.

DuckDB gets the tables that a query names as datasets, so that its columns and filters choose what is read. It has no
access to files, to the network, or to variables of the program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, PaimonError, UnsupportedFeatureError
from paimon_core.optional_packages import import_optional
from paimon_core.scan.derived_tables import NAMED_TABLES
from paimon_core.tracing import current_parent
from paimon_sql.catalog.base import SYSTEM_DATABASE
from paimon_sql.python.dataset import TableDataset
from paimon_sql.python.versions import VersionChoice

if TYPE_CHECKING:
    from paimon_sql.python.catalog import PaimonCatalog

_SETTINGS = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
_LOOK = 0.05  # seconds between two looks at the limits of a query
_SETTING = "current_setting"
_SHOWN_SETTINGS = ("timezone", "calendar", "default_order", "default_null_order", "integer_division")
_CHANGES = (exp.DML, exp.DDL, exp.Into, exp.Command)
_GENERATED = frozenset(("generateseries", "generate_series", "range", "unnest"))  # functions in FROM that read nothing
_PARTS = frozenset(("this", "db", "alias", "joins", "laterals", "pivots", "version"))  # of a table in FROM
_GIVEN = "given_name"  # of a table, if its name in the tree has another case


@dataclass(frozen=True, slots=True)
class QueriedTable:
    """A table of a query, at a version (None: the latest): the arguments of `PaimonTable.scan`."""

    name: str
    version: int | str | None = None
    timestamp: str | None = None

    @property
    def choice(self) -> VersionChoice:
        """The version as `PaimonTable.scan` takes it."""
        if self.version is not None:
            return {"version": self.version}
        return {} if self.timestamp is None else {"timestamp": self.timestamp}


@dataclass(frozen=True)
class ParsedQuery:
    """A query as DuckDB gets it, and the view that stands for each table in it."""

    text: str
    tables: Mapping[QueriedTable, str]


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of a query: only its first `rows` are returned, it ends after some `seconds` or when `stop` is set,
    and it may use at most `memory`, spelled as in DuckDB; it cannot spill to files.
    """

    rows: int
    seconds: float
    memory: str = "2GB"
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end` if the block reaches a time limit, and repeat the call until the block ends: a query that is being
        planned may ignore the first call.
        """
        ended, last = threading.Event(), time.monotonic() + self.seconds

        def watch() -> None:
            while not ended.wait(_LOOK):
                if self.stop.is_set() or time.monotonic() > last:
                    end()

        watcher = threading.Thread(target=watch, name="limits of a query", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def run_query(catalog: PaimonCatalog, text: str, limits: QueryLimits | None = None) -> pa.Table:
    """Return the rows of a query. Raises the errors of `PaimonCatalog.sql`."""
    query = parsed_query(text)
    duckdb = import_optional("duckdb", "SQL without Spark", "duckdb")
    errors: list[PaimonError] = []
    sources = {view: _source(catalog, table, errors) for table, view in query.tables.items()}
    bounds = {} if limits is None else {"memory_limit": limits.memory, "temp_directory": ""}
    connection = duckdb.connect(":memory:", config={**_SETTINGS, **bounds})
    try:
        if catalog.zone is not None:
            connection.execute(f"SET TimeZone = {exp.Literal.string(str(catalog.zone)).sql('duckdb')}")
        connection.execute("SET lock_configuration = true")
        for view, source in sources.items():
            connection.register(view, source)
        with nullcontext() if limits is None else limits.ending(connection.interrupt):
            rows = connection.sql(query.text)
            found: pa.Table = (rows if limits is None else rows.limit(limits.rows)).to_arrow_table()
        return found
    except duckdb.InterruptException as error:
        after = "" if limits is None else f" after {limits.seconds:g} seconds"
        raise InvalidOptionError(f"The query was stopped{after}: let it read less, or run it in Spark.") from error
    except duckdb.Error as error:
        if errors:  # an error of a scan: DuckDB reports only its text
            raise errors[0] from error
        raise InvalidOptionError(f"The query cannot run: {_first_line(error)}. Correct the query.") from error
    finally:
        connection.close()


def parsed_query(text: str) -> ParsedQuery:
    """Parse a query, and find its tables. Raises `InvalidOptionError`, `UnsupportedFeatureError`."""
    tree = _parsed(text)
    prefix = "__paimon_"
    while prefix in text.lower():  # a name of the query would hide a view
        prefix = f"_{prefix}"
    tables = dict(_tables(tree, prefix))
    return ParsedQuery(tree.sql("duckdb"), tables)


def _parsed(text: str) -> exp.Query:
    """The tree of a single query. Raises `InvalidOptionError`, `UnsupportedFeatureError`."""
    try:
        trees = [t for t in sqlglot.parse(text, read="duckdb") if t is not None]
    except (SqlglotError, ValueError, RecursionError) as error:
        raise InvalidOptionError(f"The query is not valid SQL: {_first_line(error)}. Correct the query.") from error
    if len(trees) != 1:
        raise InvalidOptionError(f"sql takes one query, not {len(trees)}: call it once for each query.")
    (tree,) = trees
    changing = next(iter(tree.find_all(*_CHANGES)), None)
    if changing is not None or not isinstance(tree, exp.Query):
        kind = (tree if changing is None else changing).key.upper()
        raise UnsupportedFeatureError(
            f"sql cannot run {kind} without Spark: it only reads. Change tables by append, upsert, overwrite, update, "
            "delete and alter, or run the statement in Spark."
        )
    _check_settings(tree)
    return tree


def _check_settings(tree: exp.Query) -> None:
    """Refuse settings of DuckDB that are not known to be harmless: some contain paths of this machine."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() == _SETTING:
            given = [e.name.lower() for e in call.expressions if isinstance(e, exp.Literal) and e.is_string]
            if len(given) != 1 or len(call.expressions) != 1 or given[0] not in _SHOWN_SETTINGS:
                raise UnsupportedFeatureError(
                    f"sql shows no settings of DuckDB but {', '.join(_SHOWN_SETTINGS)}: write current_setting with one "
                    "of them, as a text."
                )


def _tables(tree: exp.Query, prefix: str) -> Iterator[tuple[QueriedTable, str]]:
    """Yield each table and the view that stands for it, and write the views into the tree.

    Names of views begin with `prefix`. Raises `UnsupportedFeatureError`.
    """
    views: dict[QueriedTable, str] = {}
    _fold_names(tree)
    _shorten_columns(tree)
    for scope in list(traverse_scope(tree)):
        for source in list(scope.sources.values()):
            if isinstance(source, exp.Table) and source.name not in views.values() and not _is_generated(source):
                found = _queried(source)
                views.setdefault(found, f"{prefix}{len(views)}")
                _replace(source, views[found])
    known = {cte.alias for cte in tree.find_all(exp.CTE)} | set(views.values())
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Func) and table.name not in known:
            raise _refusal(table.sql("duckdb"))
    yield from views.items()


def _fold_names(tree: exp.Query) -> None:
    """Write the names of CTEs, and of tables that may be CTEs, in lower case: case does not count for DuckDB."""
    folded = set()
    for cte in tree.find_all(exp.CTE):
        folded.add(cte.alias.lower())
        cte.args["alias"].this.set("this", cte.alias.lower())
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not table.db and table.name.lower() in folded:
            table.meta[_GIVEN] = table.name
            table.this.set("this", table.name.lower())


def _shorten_columns(tree: exp.Query) -> None:
    """Remove the databases of columns: the views have none. `t.s.f` and `s.f.g` are fields of structs, and stay."""
    tables = {(t.db.lower(), t.name.lower()) for t in tree.find_all(exp.Table) if t.db}
    for column in tree.find_all(exp.Column):
        if (column.catalog.lower(), column.db.lower()) in tables:
            column.set("catalog", None)
        elif not column.catalog and (column.db.lower(), column.table.lower()) in tables:
            column.set("db", None)


def _is_generated(table: exp.Table) -> bool:
    """Return whether a function in FROM makes its rows from its arguments."""
    function = table.this
    name = function.name if isinstance(function, exp.Anonymous) else function.key
    return isinstance(function, exp.Func) and name.lower() in _GENERATED


def _queried(table: exp.Table) -> QueriedTable:
    """The table as catalogs take it, and its version."""
    given = {name for name, part in table.args.items() if part not in (None, False, [])}
    if isinstance(table.this, exp.Func):
        raise _refusal(table.sql("duckdb"))
    if unknown := given - _PARTS:
        raise _refusal(f"{table.sql('duckdb')} ({', '.join(sorted(unknown))})")
    name = f"{table.db}.{table.name}" if table.db else _given_name(table)
    version = table.args.get("version")
    if version is None:
        return QueriedTable(name)
    value = version.expression
    is_moment = version.name.upper() == "TIMESTAMP"
    if is_moment and isinstance(value, exp.Cast):  # TIMESTAMP '…'
        value = value.this
    if version.args.get("kind") != "AS OF" or not isinstance(value, exp.Literal) or (is_moment and not value.is_string):
        raise _refusal(table.sql("duckdb"))
    if is_moment:
        return QueriedTable(name, timestamp=value.name)
    return QueriedTable(name, version=value.name if value.is_string else int(value.name))


def _given_name(table: exp.Table) -> str:
    """The name of a table as the query spells it."""
    return str(table.meta.get(_GIVEN, table.name))


def _replace(table: exp.Table, view: str) -> None:
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(_given_name(table), quoted=True)))
    table.set("db", None)
    table.set("version", None)
    table.set("this", exp.to_identifier(view, quoted=True))


def _source(catalog: PaimonCatalog, queried: QueriedTable, errors: list[PaimonError]) -> Any:
    """The rows of a table, of a table derived from it, or of a system table."""
    name = queried.name
    database, _, table = name.rpartition(".")
    system_table = "" if database == SYSTEM_DATABASE else (catalog.identifier(name).system_table or "").lower()
    is_system = database == SYSTEM_DATABASE or (system_table and system_table not in NAMED_TABLES)
    if is_system and queried.choice:
        raise UnsupportedFeatureError(f"{name} is a system table, which has no versions: query it without AS OF.")
    if database == SYSTEM_DATABASE:
        return catalog.inspect(table)
    if is_system:
        return catalog.table(name.rpartition("$")[0]).inspect(system_table)
    return TableDataset(catalog.table(name).scan(**queried.choice), errors.append, current_parent())


def _refusal(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"sql cannot read {what} without Spark: name tables of the catalog, as database.table, and versions by "
        "FOR VERSION AS OF 3 or FOR TIMESTAMP AS OF '2026-01-31'."
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
