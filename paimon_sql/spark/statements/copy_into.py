"""COPY INTO: load files into a table, or write rows as files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from paimon_core.arrow.evolution import spelled
from paimon_core.arrow.patterns import Pattern
from paimon_core.clock import now_millis
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, InvalidOptionError, InvalidSchemaError, NotFoundError
from paimon_core.io.file_io import FileStatus
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.store.load_history import loaded_files, record_loads
from paimon_core.table import Table
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.statements import CopyIntoFolder, CopyIntoTable
from paimon_sql.spark.errors.java import first_line
from paimon_sql.spark.jvm.scans.files import hadoop_status
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.statements.copy_format import CopyFormat, copy_format
from paimon_sql.spark.types import default_sql, string_types, to_struct

Rows = Sequence[tuple[Any, ...]]
# the columns of the results: names and SQL types
FILE_COLUMNS = (
    ("file_name", "string"),
    ("status", "string"),
    ("rows_loaded", "bigint"),
    ("rows_parsed", "bigint"),
    ("errors_seen", "bigint"),
    ("first_error", "string"),
)
FOLDER_COLUMNS = (("output_path", "string"), ("file_count", "int"), ("rows_written", "bigint"))
_FILE, _MALFORMED, _ERROR = "__paimon_file", "__paimon_malformed", "__paimon_error"
_ABORT, _SKIP_FILE = "ABORT_STATEMENT", "SKIP_FILE"
_HIDDEN = ("_", ".")  # files that Spark does not read as rows, such as _SUCCESS


@dataclass(frozen=True, slots=True)
class _Load:
    """One load of files: the table, the columns that are in the files, and the files' format."""

    spark: SparkSession
    table: Table
    columns: tuple[str, ...]
    format: CopyFormat

    @property
    def types(self) -> dict[str, DataType]:
        return {f.name: f.dataType for f in string_types(to_struct(self.table.schema.fields)).fields}


@dataclass(frozen=True, slots=True)
class _FileReport:
    """The numbers of rows and errors found in a file."""

    parsed: int = 0
    errors: int = 0
    first_error: str | None = None


def copy_into_table(session: SessionBridge, table: Table, name: Sequence[str], statement: CopyIntoTable) -> Rows:
    """Load files into a table; `name` is its name in this session. Return the result of each file, see
    `FILE_COLUMNS`.
    """
    table.check_writable()
    load = _Load(
        session.python_session, table, _columns(table, statement.columns), copy_format(statement.format, reads=True)
    )
    files = _matching(_files(session, statement.source), statement.pattern)
    skipped = set() if statement.force else loaded_files(table.store, files)
    new = [f for f in files if f not in skipped]
    rows = _load_files(load, new, ".".join(map(quoted_name, name)), statement.on_error) if new else []
    return [*rows, *((f.name, "SKIPPED", 0, 0, 0, None) for f in files if f in skipped)]


def copy_into_folder(session: SessionBridge, statement: CopyIntoFolder) -> Rows:
    """Write a query's rows as files. Return the folder, its files and their rows, see `FOLDER_COLUMNS`."""
    target = statement.target
    frame, wanted = _query(session.python_session, statement.query), copy_format(statement.format, reads=False)
    if not statement.overwrite and hadoop_status(session.jvm, session.session, target) is not None:
        raise InvalidOptionError(
            f"COPY INTO: the folder {target} exists already: write OVERWRITE = TRUE to replace it."
        )
    rows = frame.count()
    frame.write.mode("overwrite").format(wanted.type).options(**wanted.spark_options).save(target)
    parts = [f for f in _files(session, target) if f.name.startswith("part-")]
    return [(target, len(parts), rows)]


def _columns(table: Table, listed: Sequence[str] | None) -> tuple[str, ...]:
    """Return the table's columns that are in the files, in the order of the statement."""
    names = tuple(f.name for f in table.schema.fields)
    if listed is None:
        return names
    for name in listed:
        if spelled(names, name) is None:
            raise InvalidSchemaError(f"Table {table.name} has no column {name!r}; it has {', '.join(names)}.")
    found = tuple(spelled(names, n) or n for n in listed)
    twice = [n for i, n in enumerate(found) if n in found[:i]]
    if twice:
        raise InvalidSchemaError(f"COPY INTO {table.name} lists the duplicate column {twice[0]!r}: name it once.")
    made = RowRules.of(table.schema).made
    for field in table.schema.fields:
        if field.name not in (*found, *made) and not field.type.nullable and field.default is None:
            raise InvalidSchemaError(
                f"Column {field.name!r} of table {table.name} takes no NULL and has no default: list it in COPY INTO."
            )
    return found


def _files(session: SessionBridge, path: str) -> list[FileStatus]:
    """Return the files of a folder, without its subfolders, or the one file at the path."""
    found = hadoop_status(session.jvm, session.session, path)
    if found is None:
        raise NotFoundError(f"COPY INTO: there is no file or folder {path}. Check the path.")
    statuses = [
        FileStatus(str(s.getPath().toString()), s.getLen(), False, s.getModificationTime()) for s in found if s.isFile()
    ]
    return sorted(statuses, key=lambda s: s.path)


def _matching(files: Sequence[FileStatus], pattern: str | None) -> list[FileStatus]:
    found = Pattern.of("PATTERN", pattern or "").finds([f.name for f in files])
    return list(compress(files, found))


def _query(spark: SparkSession, query: str) -> DataFrame:
    try:
        return spark.sql(f"SELECT * FROM (\n{query}\n)")  # noqa: S608  the statement has it as a query
    except CapturedException as e:
        if e.getCondition() != "PARSE_SYNTAX_ERROR":
            raise
        raise InvalidOptionError(
            f"COPY INTO a folder takes a table or a query that only reads, in parentheses: {first_line(e)}"
        ) from e


def _load_files(load: _Load, files: Sequence[FileStatus], name: str, on_error: str) -> Rows:
    """Append the rows of files, all in one commit."""
    readable = [f.path for f in files if not f.name.startswith(_HIDDEN)]
    if not readable:
        return [(f.name, "LOADED", 0, 0, 0, None) for f in files]
    rows = _checked(load, _read(load, readable)).persist()
    try:
        found = _file_reports(rows)
        bad = [f for f in files if found.get(f.name, _FileReport()).errors]
        if bad and on_error == _ABORT:
            raise InvalidDataError(
                f"COPY INTO {load.table.name}: file {bad[0].path}: {found[bad[0].name].first_error}. Nothing was "
                "loaded: mend the file, or write ON_ERROR = CONTINUE to leave such rows out."
            )
        left_out = [f.name for f in bad] if on_error == _SKIP_FILE else []
        good = rows.where(F.col(_ERROR).isNull() & ~F.col(_FILE).isin(left_out))
        good.select(*_values(load)).writeTo(name).append()
    finally:
        rows.unpersist()
    results, loaded = [], {}
    for file in files:
        report = found.get(file.name, _FileReport())
        count = 0 if file.name in left_out else report.parsed - report.errors
        if count or not report.errors:
            loaded[file] = count
        status = "LOADED" if not report.errors else "PARTIALLY_LOADED" if count else "LOAD_FAILED"
        results.append((file.name, status, count, report.parsed, report.errors, report.first_error))
    snapshot = load.table.latest_snapshot()
    record_loads(load.table.store, loaded, 0 if snapshot is None else snapshot.id, now_millis())
    return results


def _read(load: _Load, paths: list[str]) -> DataFrame:
    """Return the rows of files before their conversion: the columns as texts (Parquet: as stored), the file's name, and
    the text of a malformed row.
    """
    reader = load.spark.read.options(**load.format.spark_options)
    if load.format.type == "parquet":
        frame = reader.parquet(*paths).withColumn(_MALFORMED, F.lit(None).cast("string"))
    else:
        texts = [StructField(c, StringType()) for c in (*load.columns, _MALFORMED)]
        reader = reader.schema(StructType(texts)).options(mode="PERMISSIVE", columnNameOfCorruptRecord=_MALFORMED)
        frame = reader.format(load.format.type).load(paths)
    return frame.withColumn(_FILE, F.col("_metadata.file_name"))


def _checked(load: _Load, raw: DataFrame) -> DataFrame:
    """Return the rows in the table's types, with the error of each row; NULL for a valid row."""
    values: dict[str, Column] = {}
    errors = [F.when(F.col(_MALFORMED).isNotNull(), F.concat(F.lit("Malformed record: "), F.col(_MALFORMED)))]
    for name in load.columns:
        given = spelled(raw.columns, name)
        if given is None:
            values[name] = F.lit(None).cast(load.types[name])
            continue
        text = F.col(quoted_name(given))
        if load.format.nulls:
            text = F.when(~text.isin(list(load.format.nulls)), text)
        value = text.try_cast(load.types[name])
        wrong = F.concat(
            F.lit(f"Column '{name}': '"),
            text.cast("string"),
            F.lit(f"' is not a valid {load.types[name].simpleString()}"),
        )
        errors.append(F.when(text.isNotNull() & value.isNull(), wrong))
        values[name] = value
    return raw.select(F.col(_FILE), F.coalesce(*errors).alias(_ERROR), *(v.alias(c) for c, v in values.items()))


def _values(load: _Load) -> list[Column]:
    """Return the table's columns: from the files, or their defaults."""
    defaults = {f.name: default_sql(f) for f in load.table.schema.fields}
    return [
        F.col(quoted_name(c)) if c in load.columns else F.expr(defaults[c]).cast(t).alias(c)
        for c, t in load.types.items()
    ]


def _file_reports(rows: DataFrame) -> dict[str, _FileReport]:
    counted = rows.groupBy(_FILE).agg(F.count("*"), F.count(_ERROR), F.first(_ERROR, ignorenulls=True))
    return {name: _FileReport(parsed, errors, first) for name, parsed, errors, first in counted.collect()}
