"""Commands on tables without Spark and without a JVM: `head`, `schema`, `count`, `inspect`, `call`, `picture` and
`doctor` with a table.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import paimon_sql
from paimon_core.errors import InvalidNameError, InvalidOptionError, PaimonError
from paimon_core.escapes import visible
from paimon_sql.catalog.base import with_databases
from paimon_sql.pictures.picture import WHOLE, Choice, PictureKind
from paimon_sql.shell.arguments import WholeWords, add_catalog_options, setting
from paimon_sql.shell.opening import catalog_options, check_without_spark
from paimon_sql.shell.render import FORMATS, Result
from paimon_sql.values import ColumnKind, with_python_times

if TYPE_CHECKING:
    from paimon_sql.python.catalog import PaimonCatalog
    from paimon_sql.python.table import PaimonTable

_SYSTEM_DATABASE = "sys."
_INTERRUPTED = 130
_PARQUET = "parquet"


def run_table_command(words: Sequence[str]) -> int:
    """Run a command, and return the exit status: 0, 1 after an error, 2 for wrong arguments, 130 if stopped."""
    arguments = _parser().parse_args(words)
    try:
        check_without_spark(arguments.conf, f"paimon-sql {arguments.command}")
        if arguments.command in _TEXTS:
            sys.stdout.write(_TEXTS[arguments.command](arguments))
        else:
            if arguments.output == _PARQUET and sys.stdout.isatty():
                raise InvalidOptionError("Parquet is not text: redirect the output into a file, by '> rows.parquet'.")
            _write(*_COMMANDS[arguments.command](arguments), arguments.output)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the output has no reader any more; keep Python from flushing into the closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (PaimonError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="paimon-sql", allow_abbrev=False, formatter_class=WholeWords)
    commands = made.add_subparsers(dest="command", required=True)

    def add(name: str, help_: str, *, has_rows: bool = True) -> argparse.ArgumentParser:
        parser = commands.add_parser(
            name, help=help_, description=help_, allow_abbrev=False, formatter_class=WholeWords
        )
        add_catalog_options(parser)
        parser.add_argument("-c", "--conf", metavar="KEY=VALUE", action="append", default=[], type=setting,
                            help="an option of the catalog; may be repeated")  # fmt: skip
        parser.add_argument("--time-zone", metavar="ZONE", help="zone of moments (default: this machine's)")
        if has_rows:
            parser.add_argument("--output", choices=[*FORMATS, _PARQUET], default="table", help="default: table")
        return parser

    table = "database.table, or a path"
    for name, help_ in (("head", "Print the first rows of a table."), ("count", "Print the number of rows.")):
        parser = add(name, help_)
        parser.add_argument("table", help=table)
        parser.add_argument("--where", metavar="SQL", help="a condition, as in SQL")
        parser.add_argument("--version", metavar="VERSION", help="the id of a snapshot, or the name of a tag")
        if name == "head":
            parser.add_argument("--columns", metavar="A,B", help="default: all")
            parser.add_argument("-n", "--limit", metavar="N", type=int, default=10, help="rows (default: 10)")
    add("schema", "Print the columns of a table.").add_argument("table", help=table)
    add("inspect", "Print a system table.").add_argument("table", help="database.table$files, or sys.tables")
    query = "Run a query on DuckDB, and print its rows. Needs the extra duckdb."
    add("query", query).add_argument("query", metavar="SQL", help="SELECT … FROM database.table …")
    call = add("call", "Call a procedure.")
    call.add_argument("procedure", help="its name, such as compact")
    call.add_argument("arguments", metavar="NAME=VALUE", nargs="*", type=setting, help="table=database.table")
    picture = add(
        "picture", "Draw a table: its LSM trees, commits, files, partitions, branches, schemas.", has_rows=False
    )
    picture.add_argument("table", help=table)
    picture.add_argument("--kind", choices=list(PictureKind), help="default: all that the table has")
    picture.add_argument("--partition", metavar="P", help="draw the LSM trees of day=2024-01-01, for example")
    picture.add_argument("--bucket", metavar="N", type=int, help="draw the LSM tree of one bucket")
    after = "show what it would do: compact or minor compact (lsm), expire_snapshots (timeline)"
    picture.add_argument("--after", metavar="OPERATION", help=after)
    picture.add_argument(
        "--out", metavar="FILE", help="write FILE.svg, FILE.html, FILE.txt or FILE.png (default: print text)"
    )
    doctor = add("doctor", "Print advice on the upkeep of a table, as CALL sys.advise.", has_rows=False)
    doctor.add_argument("table", help=table)
    doctor.add_argument("--deep", action="store_true", help="list all files, too, to find those that nothing needs")
    doctor.add_argument(
        "--readers", metavar="ENGINES", help="engines that must read the table: 'Paimon 0.7, pypaimon 1.4.2'"
    )
    return made


# -- commands ---------------------------------------------------------------------------------------------------------
_Found = tuple[pa.Table, tzinfo]


def _head(arguments: argparse.Namespace) -> _Found:
    table = _table(arguments, arguments.table)
    columns = None if arguments.columns is None else [c.strip() for c in arguments.columns.split(",")]
    version = {} if arguments.version is None else {"version": arguments.version}
    return table.scan(columns, arguments.where, arguments.limit, **version).to_arrow(), _zone(table)


def _count(arguments: argparse.Namespace) -> _Found:
    table = _table(arguments, arguments.table)
    version = {} if arguments.version is None else {"version": arguments.version}
    return pa.table({"count": [table.scan(where=arguments.where, **version).count()]}), _zone(table)


def _schema(arguments: argparse.Namespace) -> _Found:
    table = _table(arguments, arguments.table)
    fields, keys, partitions = table.inner.schema.fields, table.primary_key, table.partitioned_by
    roles = [", ".join(w for w, k in (("primary", keys), ("partition", partitions)) if f.name in k) for f in fields]
    columns = {
        "column": [f.name for f in fields],
        "type": [str(f.type) for f in fields],
        "key": roles,
        "comment": [f.description or "" for f in fields],
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}), _zone(table)


def _inspect(arguments: argparse.Namespace) -> _Found:
    if arguments.table.startswith(_SYSTEM_DATABASE):
        catalog = _catalog(arguments)
        return catalog.inspect(arguments.table.removeprefix(_SYSTEM_DATABASE)), _local(catalog.zone)
    name, _, system_table = arguments.table.rpartition("$")
    if not name:
        raise InvalidNameError(f"{arguments.table!r} is not a system table: write database.table$files, or sys.tables.")
    table = _table(arguments, name)
    return table.inspect(system_table), _zone(table)


def _query(arguments: argparse.Namespace) -> _Found:
    catalog = _catalog(arguments)
    return catalog.sql(arguments.query), _local(catalog.zone)


def _call(arguments: argparse.Namespace) -> _Found:
    from paimon_sql.python.calls import call_procedure, typed_arguments  # noqa: PLC0415  procedures take long to import
    from paimon_sql.shell.statement_progress import drawn  # noqa: PLC0415  as above

    catalog = _catalog(arguments)
    given = typed_arguments(arguments.procedure, dict(arguments.arguments))
    with drawn(sys.stderr) if sys.stderr.isatty() else nullcontext():
        found = call_procedure(with_databases(catalog.inner), catalog.zone, arguments.procedure, given)
    return found, _local(catalog.zone)


def _picture(arguments: argparse.Namespace) -> str:
    """Draw a table into a file, or return text as wide as the terminal."""
    from paimon_sql.pictures.kinds import draw, kinds_of  # noqa: PLC0415  other commands need none of it
    from paimon_sql.pictures.show import ShownPicture  # noqa: PLC0415

    table = _table(arguments, arguments.table)
    store, part = table.inner.store, Choice(arguments.partition, arguments.bucket, arguments.after)
    kind = arguments.kind or ("timeline" if part.after == "expire_snapshots" else "lsm" if part != WHOLE else None)
    kinds = [kind] if kind else kinds_of(store)
    if arguments.out is not None:
        drawn = ShownPicture(table.name, lambda form: [draw(store, each, part).written(form) for each in kinds])
        drawn.save(arguments.out)
        return ""
    width = shutil.get_terminal_size((100, 24)).columns
    return "\n".join(draw(store, each, part).text(width) for each in kinds)


def _doctor(arguments: argparse.Namespace) -> str:
    """Return the advice on a table as text."""
    from paimon_core.maintenance.advice import advise, figures_of  # noqa: PLC0415  other commands need none of it
    from paimon_core.maintenance.older_readers import advise_for_readers, readers_of  # noqa: PLC0415  nor of this

    engines = () if arguments.readers is None else readers_of(arguments.readers)
    table = _table(arguments, arguments.table)
    store = table.inner.store
    figures = figures_of(store, with_orphans=arguments.deep)
    given = [*advise(figures), *advise_for_readers(store, figures, engines)]
    if not given:
        return f"No rule has advice for {table.name}.\n"
    catalog = arguments.catalog or "paimon"
    said = [(a.fact, f"  why: {a.reason}", f"  run: {a.for_table(catalog, table.identifier)}") for a in given]
    return "\n".join("".join(f"{visible(line, kept='')}\n" for line in lines) for lines in said)


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], _Found]] = {
    "head": _head,
    "schema": _schema,
    "count": _count,
    "inspect": _inspect,
    "query": _query,
    "call": _call,
}
_TEXTS: Mapping[str, Callable[[argparse.Namespace], str]] = {"picture": _picture, "doctor": _doctor}
TABLE_COMMANDS = (*_COMMANDS, *_TEXTS)


def _catalog(arguments: argparse.Namespace) -> PaimonCatalog:
    return paimon_sql.open_catalog(**catalog_options(arguments, arguments.conf), time_zone=arguments.time_zone)


def _table(arguments: argparse.Namespace, name: str) -> PaimonTable:
    if "/" in name:
        return paimon_sql.open_table(os.path.abspath(name) if "://" not in name else name, **dict(arguments.conf))
    return _catalog(arguments).table(name)


# -- results ----------------------------------------------------------------------------------------------------------
def _write(found: pa.Table, zone: tzinfo, form: str) -> None:
    """Write rows to the standard output."""
    if form == _PARQUET:
        pq.write_table(found, sys.stdout.buffer, compression="zstd")
    else:
        sys.stdout.write(FORMATS[form](_result(found, zone)))


def _zone(table: PaimonTable) -> tzinfo:
    return _local(table.inner.store.zone)


def _local(zone: tzinfo | None) -> tzinfo:
    return zone or datetime.now().astimezone().tzinfo  # type: ignore[return-value]


def _result(found: pa.Table, zone: tzinfo) -> Result:
    columns = [with_python_times(column) for column in found.columns]
    rows = list(zip(*(c.to_pylist() for c in columns), strict=True))
    kinds = [ColumnKind.of(c.type) for c in columns]
    return Result(columns=found.column_names, kinds=kinds, rows=rows, zone=zone)
