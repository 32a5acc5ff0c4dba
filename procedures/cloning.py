"""`CALL sys.clone`: tables, databases and whole catalogs as tables of another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paimon_core.errors import InvalidOptionError, TableNotFoundError
from paimon_core.options import BUCKET, FILE_FORMAT
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SYSTEM_DATABASE, SupportsDatabases
from paimon_sql.catalog.listing import of_some, tables_of
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures.arguments import check_parallelism, given, table_options
from paimon_sql.procedures.copying import copy_table, create_alike
from paimon_sql.procedures.registry import Int, ProcedureContext, has_table, load_table, procedure

_FORMATS = ("parquet", "orc", "avro")
_FIXED = (BUCKET.key, "path")  # of the source: files lie in its buckets


@procedure(result="string")
def clone(
    context: ProcedureContext,
    database: str | None = None,
    table: str | None = None,
    catalog_conf: str | None = None,
    target_database: str | None = None,
    target_table: str | None = None,
    target_catalog_conf: str | None = None,
    parallelism: Int | None = None,
    where: str | None = None,
    included_tables: str | None = None,
    excluded_tables: str | None = None,
    prefer_file_format: str | None = None,
    clone_from: str = "paimon",
    meta_only: bool = False,
    clone_if_exists: bool = True,
    target_table_conf: str | None = None,
) -> Sequence[tuple[Any, ...]]:
    """Clone a table (`database`, `table` as `target_database`, `target_table`), the tables of a database (as those of
    `target_database`), or those of a catalog: each as `copy` does, so that it can be run again.

    Both catalogs are this one, unless `catalog_conf` or `target_catalog_conf` (`warehouse=/elsewhere`) are options of
    another. Of several tables those in `included_tables` (`db.a,db.b`; default: all) and not in `excluded_tables` are
    cloned, with the rows of the partitions that satisfy `where`; with `meta_only` without rows. Tables that are there
    are left alone with `clone_if_exists => false`. Tables that are made have the options `target_table_conf`
    (`key=value`), and write new files in `prefer_file_format`. The result says how many tables were cloned, and how
    many were left alone. Of several, those that cannot be cloned are counted, and logged with the reason.
    """
    check_parallelism(parallelism)
    if clone_from.strip().lower() != "paimon":
        raise InvalidOptionError(
            f"clone_from cannot be {clone_from!r}: it is paimon; migrate_table with delete_origin => false copies the "
            "tables of others."
        )
    options = _options(target_table_conf, prefer_file_format)
    source, target = (_catalog(context, text) for text in (catalog_conf, target_catalog_conf))
    pairs = list(_pairs(source, given(database), given(table), given(target_database), given(target_table)))
    if given(table) is None:
        pairs = _chosen(pairs, _names(included_tables), _names(excluded_tables))
    elif given(included_tables) or given(excluded_tables):
        raise InvalidOptionError("included_tables and excluded_tables are for several tables: leave them out.")
    if not pairs:
        raise TableNotFoundError("There is no table to clone: look at database, included_tables and excluded_tables.")
    targets = {here: there for here, there in pairs if clone_if_exists or not has_table(target, there)}

    def clone_one(here: Identifier) -> None:
        found = load_table(source, here)
        if not meta_only:
            copy_table(context, found, target, targets[here], where, options)
        elif not has_table(target, targets[here]):
            create_alike(found, target, targets[here], options)

    done = of_some(targets, clone_one, "cloned")
    failed = f", Failed: {len(targets) - len(done)}" if len(done) < len(targets) else ""
    return [(f"Clone finished. Success: {len(done)}, Skipped: {len(pairs) - len(targets)}{failed}",)]


def _options(target_table_conf: str | None, prefer_file_format: str | None) -> dict[str, str]:
    options = {k: v for k, v in table_options(target_table_conf or "").items() if k not in _FIXED}
    form = given(prefer_file_format)
    if form is None:
        return options
    if form.strip().lower() not in _FORMATS:
        raise InvalidOptionError(f"prefer_file_format cannot be {form!r}: it is one of {', '.join(_FORMATS)}.")
    return {**options, FILE_FORMAT.key: form.strip().lower()}


def _catalog(context: ProcedureContext, options: str | None) -> SupportsDatabases:
    chosen: Mapping[str, str] = table_options(options or "")
    return load_catalog({**context.catalog.options, **chosen}) if chosen else context.catalog


def _pairs(
    source: SupportsDatabases,
    database: str | None,
    table: str | None,
    target_database: str | None,
    target_table: str | None,
) -> Iterator[tuple[Identifier, Identifier]]:
    """Each table that is meant, and what it becomes. Raises `InvalidOptionError` for what does not go together."""
    if database is None:
        if table or target_database or target_table:
            raise InvalidOptionError(
                "A whole catalog is cloned without table, target_database and target_table; for less say database, too."
            )
        names = (d for d in source.list_databases() if d != SYSTEM_DATABASE)
        yield from ((i, i) for d in names for i in tables_of(source, d, formats=False))
        return
    if target_database is None:
        raise InvalidOptionError(f"clone needs target_database: what database {database!r} is to be called there.")
    if (table is None) != (target_table is None):
        raise InvalidOptionError("table and target_table go together: give both, or neither for a whole database.")
    if table is None:
        yield from ((i, Identifier.of(target_database, i.table)) for i in tables_of(source, database, formats=False))
    else:
        yield Identifier.of(database, table), Identifier.of(target_database, str(target_table))


def _names(text: str | None) -> frozenset[str]:
    return frozenset(n.strip() for n in (text or "").split(",") if n.strip())


def _chosen(
    pairs: Sequence[tuple[Identifier, Identifier]], included: frozenset[str], excluded: frozenset[str]
) -> list[tuple[Identifier, Identifier]]:
    known = {str(here) for here, _ in pairs}
    unknown = sorted((included | excluded) - known)
    if unknown:
        raise TableNotFoundError(f"There is no table {unknown[0]!r} to clone; there are {', '.join(sorted(known))}.")
    return [p for p in pairs if (not included or str(p[0]) in included) and str(p[0]) not in excluded]
