"""Statements of Delta Lake and Iceberg that no Paimon table has, and the statements to write instead.

Spark refuses most of them with a syntax error near their second word. The parser hook adds the advice found here, if
the table is in a Paimon catalog; another format's extension of the parser gets its own statements first. The same
table is in `docs/from-iceberg-and-delta.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from paimon_core.dataclass import dataclass
from paimon_core.spec.identifier import sql_name
from paimon_sql.preprocess.blocks import read_block
from paimon_sql.preprocess.cursor import Cursor
from paimon_sql.preprocess.lexing import tokenize, without_dollar_strings
from paimon_sql.preprocess.quoting import quoted_text
from paimon_sql.preprocess.rules.rule import first_word
from paimon_sql.preprocess.statements import Name

DELTA, ICEBERG = "Delta Lake", "Iceberg"
OTHER_FORMATS = {"delta": DELTA, "iceberg": ICEBERG}  # by the name of their data source
# Iceberg's metadata tables that no Paimon table has, and the system tables with such rows
_METADATA_TABLES = {
    "all_data_files": "files",
    "all_entries": "files",
    "all_files": "files",
    "all_manifests": "manifests",
    "changes": "audit_log",
    "data_files": "files",
    "delete_files": "table_indexes",
    "entries": "files",
    "history": "snapshots",
    "metadata_log_entries": "schemas",
    "position_deletes": "table_indexes",
    "refs": "tags",
}
# what Iceberg puts before a version in the last part of a table's name
_VERSIONS = {
    "tag_": "VERSION AS OF '{}'",
    "snapshot_id_": "VERSION AS OF {}",
    "at_timestamp_": "TIMESTAMP AS OF timestamp_millis({})",
}
_AT = re.compile(r"\bfrom\s+([\w.`]+)@(?:v(\d{1,19})|\d{17})(?!\w)", re.IGNORECASE)  # Delta's names of versions
_TRANSACTION = re.compile(
    r"\s*(?:begin|start(?=\s+transaction)|commit|rollback|end(?=\s+transaction))(?:\s+(?:transaction|work|tran))?\s*;?\s*",
    re.IGNORECASE,
)
# system tables that others list by SHOW
_LISTED = frozenset({"branches", "consumers", "files", "manifests", "options", "snapshots", "statistics", "tags"})
# a word of every statement that Spark takes for another one
_MISREAD = re.compile(r"\b(?:history|detail|system|table_changes)\b")


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A statement of another format and the statements to write for a Paimon table instead of it.

    `statement` names it, and `format` is the format that has it. `table` is the name in the statement. `write` is the
    advice, with the fields of `values` and these: `{table}`, the table's name in SQL, `{snapshots}`, `{files}` and
    `{audit_log}`, the names of its system tables, `{name}`, its name as a string for procedures, and `{call}`, CALL
    with the namespace of procedures. `parsed_as` is set if Spark can parse the statement, with another meaning: it is
    the table name that Spark finds in it, or "" if Spark finds none.
    """

    statement: str
    format: str
    table: Name
    write: str
    parsed_as: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    def advice(self, catalog: str | None, database: str, table: str) -> str:
        """Return the advice for a table; `catalog` is needed only if it differs from the current one."""
        above = [database] if catalog is None else [catalog, database]
        fields = {
            "table": sql_name(*above, table),
            "name": quoted_text(sql_name(database, table)),
            "call": "CALL sys" if catalog is None else f"CALL {sql_name(catalog, 'sys')}",
        }
        fields |= {kind: sql_name(*above, f"{table}${kind}") for kind in ("snapshots", "files", "audit_log")}
        advice = self.write.format(**fields, **self.values)
        return f"{self.statement} is a statement of {self.format}. For a Paimon table, {advice}"


def of_iceberg(name: str) -> str | None:
    """Return the advice for the last part of `table.history`, `table.tag_x` and the like, with `{table}` for the table;
    None for other names.
    """
    kind = name.lower()
    if kind in _METADATA_TABLES:
        return f"is a metadata table of Iceberg. For a Paimon table, read {{table}}${_METADATA_TABLES[kind]}"
    found = next((before for before in _VERSIONS if kind.startswith(before)), None)
    version = "" if found is None else name[len(found) :]
    if found is None or not (version.isdecimal() or (found == "tag_" and version.isidentifier())):
        return None
    return f"is a version as Iceberg names it. For a Paimon table, write {{table}} {_VERSIONS[found].format(version)}"


def counterpart(text: str, *, is_parsed: bool = False) -> Counterpart | None:
    """Return the counterpart of a statement of another format; None for every other text.

    `is_parsed` says whether Spark could parse the text.
    """
    lower = text.lower()
    readers = _READERS.get(first_word(lower), ())
    if not readers or (is_parsed and not _MISREAD.search(lower)) or (tokens := tokenize(text)) is None:
        return None
    found = (read(Cursor(tokens)) for read in readers)
    return next(
        (each for each in found if each is not None and each.table and (each.parsed_as is not None) == is_parsed), None
    )


def of_transaction(text: str) -> str | None:
    """Return the advice for a statement of other databases that begins or ends a transaction; None for other texts."""
    if _TRANSACTION.fullmatch(text) is None:
        return None
    return (
        "A transaction has one statement here: each statement commits, or changes nothing. Leave BEGIN, COMMIT and "
        "ROLLBACK out. CALL sys.rollback brings a table back to an earlier snapshot"
    )


def of_paimon(text: str) -> str | None:
    """Return the advice for a text that is nearly a statement of this package or of a script; None for other texts."""
    lower = text.lower()
    first = first_word(lower)
    if first not in ("show", "begin") or (tokens := tokenize(without_dollar_strings(text))) is None:
        return None
    if first == "begin":
        block = read_block(tokens)
        strict = read_block(tokens, strict=True)
        is_lenient = block is not None and block.is_whole and strict is not None and not strict.is_whole
        return "Each statement of BEGIN … END needs a ; behind it, also the last one" if is_lenient else None
    cursor = Cursor(tokens)
    cursor.next()
    kind = cursor.next_text().lower() if cursor.at_word() else ""
    if kind not in _LISTED:
        return None
    cursor.take_any("FROM", "IN")
    table = sql_name(*cursor.take_parts() or ("t",))
    if kind == "tags":
        return f"SHOW TAGS needs the name of a table: write SHOW TAGS {table}"
    return f"SHOW {kind.upper()} is not a statement of Paimon: write SELECT * FROM {table}${kind}"  # noqa: S608  a message


# -- Delta Lake ------------------------------------------------------------------------------------------------------
def _vacuum(cursor: Cursor) -> Counterpart:
    """`VACUUM t [FULL | LITE] [RETAIN n HOURS] [DRY RUN]`."""
    cursor.next()
    table = cursor.take_parts()
    cursor.take_any("FULL", "LITE")
    hours = cursor.take_number() if cursor.take("RETAIN") else None
    if hours is not None:
        cursor.take("HOURS")
    age = f"older_than => current_timestamp() - INTERVAL {168 if hours is None else hours} HOURS"
    dry_run = ", dry_run => true" if cursor.take("DRY", "RUN") else ""
    orphans = f"{{call}}.remove_orphan_files(table => {{name}}, {age}{dry_run})"
    expired = f"{{call}}.expire_snapshots(table => {{name}}, {age})"
    write = f"write {orphans}" if dry_run else f"write {expired}, then {orphans}"
    return Counterpart("VACUUM", DELTA, table, write)


def _optimize(cursor: Cursor) -> Counterpart:
    """`OPTIMIZE t [WHERE …] [ZORDER BY (a, b)]`."""
    cursor.next()
    table = cursor.take_parts()
    arguments, values = "", {}
    if cursor.take("WHERE"):
        first = cursor.index
        while not cursor.at_end() and cursor.symbol() != "ZORDER":
            cursor.skip()
        if cursor.index > first:
            source = cursor.last.source
            values["where"] = quoted_text(source[cursor.tokens.start(first) : cursor.tokens.end(cursor.index - 1)])
            arguments += ", where => {where}"
    if cursor.take("ZORDER", "BY"):
        first = cursor.index
        while not cursor.at_end():
            cursor.next()
        values["columns"] = quoted_text(",".join(cursor.names(first)))
        arguments += ", order_strategy => 'zorder', order_by => {columns}"
    return Counterpart("OPTIMIZE", DELTA, table, f"write {{call}}.compact(table => {{name}}{arguments})", values=values)


def _reorg(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("REORG", "TABLE"):
        return None
    write = "write {call}.compact(table => {name}, compact_strategy => 'full')"
    return Counterpart("REORG TABLE", DELTA, cursor.take_parts(), write)


def _restore(cursor: Cursor) -> Counterpart | None:
    """`RESTORE [TABLE] t TO VERSION AS OF n` or `TO TIMESTAMP AS OF text`."""
    cursor.next()
    cursor.take("TABLE")
    table = cursor.take_parts()
    if cursor.take("TO", "VERSION", "AS", "OF") and (version := cursor.take_number()) is not None:
        return Counterpart(
            "RESTORE", DELTA, table, f"write {{call}}.rollback(table => {{name}}, version => '{version}')"
        )
    moment = "unix_millis(TIMESTAMP {moment})"
    values = {"moment": "'…'"}
    if cursor.take("TIMESTAMP", "AS", "OF") or cursor.take("TO", "TIMESTAMP", "AS", "OF"):
        given = cursor.take_text()
        values = {"moment": "'…'" if given is None else quoted_text(given)}
    write = f"write {{call}}.rollback_to_timestamp(table => {{name}}, timestamp => {moment})"
    return Counterpart("RESTORE", DELTA, table, write, values=values)


def _generate(cursor: Cursor) -> Counterpart | None:
    cursor.next()
    if not cursor.take("SYMLINK_FORMAT_MANIFEST") or not cursor.take("FOR", "TABLE"):
        return None
    write = (
        "write ALTER TABLE {table} SET TBLPROPERTIES ('metadata.iceberg.storage' = 'table-location'): "
        "readers of Iceberg then read it"
    )
    return Counterpart("GENERATE", DELTA, cursor.take_parts(), write)


def _fsck(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("FSCK", "REPAIR", "TABLE"):
        return None
    table = cursor.take_parts()
    dry_run = ", dry_run => true" if cursor.take("DRY", "RUN") else ""
    return Counterpart("FSCK REPAIR TABLE", DELTA, table, f"write {{call}}.remove_unexisting_files({{name}}{dry_run})")


def _convert(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("CONVERT", "TO", "DELTA"):
        return None
    write = "write {call}.migrate_table(source_type => 'hive', table => {name}) for a table of a Hive metastore"
    return Counterpart("CONVERT TO DELTA", DELTA, cursor.take_parts(), write)


def _undrop(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("UNDROP", "TABLE"):
        return None
    write = "nothing brings it back: DROP TABLE deletes its files"
    return Counterpart("UNDROP TABLE", DELTA, cursor.take_parts(), write)


def _delta_statistics(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("ANALYZE", "TABLE"):
        return None
    table = cursor.take_parts()
    if not cursor.take("COMPUTE", "DELTA", "STATISTICS"):
        return None
    write = "write ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS"
    return Counterpart("COMPUTE DELTA STATISTICS", DELTA, table, write)


def _clone(cursor: Cursor) -> Counterpart | None:
    """`CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t [SHALLOW | DEEP] CLONE source`."""
    if not (cursor.take("CREATE", "TABLE") or cursor.take("CREATE", "OR", "REPLACE", "TABLE")):
        return None
    cursor.take("IF", "NOT", "EXISTS")
    target = cursor.take_parts()
    kind = "SHALLOW " if cursor.take("SHALLOW") else "DEEP " if cursor.take("DEEP") else ""
    if not cursor.take("CLONE") or not (source := cursor.take_parts()):
        return None
    write = "write {call}.copy(source_table => {source}, target_table => {name})"
    if kind == "SHALLOW ":
        write = (
            "write {call}.create_branch(table => {source}, branch => 'name'), which shares its files, or " + write[6:]
        )
    values = {"source": quoted_text(sql_name(*source))}
    return Counterpart(f"{kind}CLONE", DELTA, target, write, values=values)


def _describe(cursor: Cursor) -> Counterpart | None:
    """`DESCRIBE HISTORY t` and `DESCRIBE DETAIL t`, which Spark reads as a column of a table of that name."""
    cursor.next()
    if cursor.take("HISTORY"):
        write = "write SELECT * FROM {snapshots} ORDER BY snapshot_id DESC"
        return Counterpart("DESCRIBE HISTORY", DELTA, cursor.take_parts(), write, "history")
    if cursor.take("DETAIL"):
        write = "write DESCRIBE EXTENDED {table}, and for its files SELECT * FROM {files}"
        return Counterpart("DESCRIBE DETAIL", DELTA, cursor.take_parts(), write, "detail")
    return None


def _changes(cursor: Cursor) -> Counterpart | None:
    """`table_changes('t', 2, 5)` in FROM, which Spark takes for an unknown table function."""
    tokens = cursor.tokens
    for index in tokens.indexes("TABLE_CHANGES"):
        call = Cursor(tokens, index + 2)
        if tokens.symbols[index + 1 : index + 2] != ["("] or (text := call.take_text()) is None:
            continue
        first = call.take_number() if call.take(",") else None
        last = call.take_number() if call.take(",") else None
        ends = f"{'…' if first is None else max(first - 1, 0)}, {'…' if last is None else last}"
        write = (
            f"read paimon_incremental_query({{name}}, {ends}), which begins after its first snapshot, or {{audit_log}}"
        )
        return Counterpart("table_changes", DELTA, tuple(p.strip("`") for p in text.split(".")), write, "")
    return None


def _at_version(cursor: Cursor) -> Counterpart | None:
    """`FROM t@v3` and `FROM t@20260101000000000`."""
    found = _AT.search(cursor.last.source if cursor.index else cursor.next().source)
    if found is None:
        return None
    version = "TIMESTAMP AS OF '…'" if found[2] is None else f"VERSION AS OF {found[2]}"
    return Counterpart(
        "t@version", DELTA, tuple(p.strip("`") for p in found[1].split(".")), f"write {{table}} {version}"
    )


def _drop_feature(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("ALTER", "TABLE"):
        return None
    table = cursor.take_parts()
    if not cursor.take("DROP", "FEATURE"):
        return None
    return Counterpart("DROP FEATURE", DELTA, table, "leave it out: a Paimon table's features are its options")


# -- Iceberg ---------------------------------------------------------------------------------------------------------
def _partition_field(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("ALTER", "TABLE"):
        return None
    table = cursor.take_parts()
    verb = cursor.symbol()
    if not cursor.take_any("ADD", "DROP", "REPLACE") or not cursor.take("PARTITION", "FIELD"):
        return None
    write = (
        "write CREATE TABLE … PARTITIONED BY (…) AS SELECT * FROM {table}: its partition columns are fixed. "
        "{call}.rescale(table => {name}, bucket_num => n) changes the number of its buckets"
    )
    return Counterpart(f"{verb} PARTITION FIELD", ICEBERG, table, write)


def _write_order(cursor: Cursor) -> Counterpart | None:
    """`ALTER TABLE t WRITE [LOCALLY] ORDERED BY a, b`, `WRITE UNORDERED`, `WRITE DISTRIBUTED BY PARTITION`."""
    if not cursor.take("ALTER", "TABLE"):
        return None
    table = cursor.take_parts()
    if not cursor.take("WRITE"):
        return None
    if cursor.take("UNORDERED"):
        return Counterpart(
            "WRITE UNORDERED", ICEBERG, table, "write ALTER TABLE {table} UNSET TBLPROPERTIES ('clustering.columns')"
        )
    if cursor.take("DISTRIBUTED", "BY", "PARTITION") and cursor.at_end():
        return Counterpart("WRITE DISTRIBUTED BY", ICEBERG, table, "leave it out: writes are distributed anyway")
    cursor.take("LOCALLY")
    first = cursor.index + 2
    if not cursor.take("ORDERED", "BY"):
        return None
    while not cursor.at_end():
        cursor.next()
    ordered = [name for name in cursor.names(first) if name.upper() not in ("ASC", "DESC", "NULLS", "FIRST", "LAST")]
    write = "write ALTER TABLE {table} SET TBLPROPERTIES ('clustering.columns' = {columns})"
    return Counterpart("WRITE ORDERED BY", ICEBERG, table, write, values={"columns": quoted_text(",".join(ordered))})


def _identifier_fields(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("ALTER", "TABLE"):
        return None
    table = cursor.take_parts()
    if not cursor.take_any("SET", "DROP") or not cursor.take("IDENTIFIER", "FIELDS"):
        return None
    write = "write CREATE TABLE … TBLPROPERTIES ('primary-key' = '…') AS SELECT * FROM {table}: its key is fixed"
    return Counterpart("IDENTIFIER FIELDS", ICEBERG, table, write)


def _branch(cursor: Cursor) -> Counterpart | None:
    """`ALTER TABLE t CREATE [OR REPLACE] BRANCH [IF NOT EXISTS] b [AS OF VERSION n]`, `REPLACE BRANCH b`,
    `DROP BRANCH [IF EXISTS] b`."""
    if not cursor.take("ALTER", "TABLE"):
        return None
    table = cursor.take_parts()
    if cursor.take("DROP", "BRANCH"):
        cursor.take("IF", "EXISTS")
        write = "write {call}.delete_branch(table => {name}, branch => {branch})"
        return Counterpart("DROP BRANCH", ICEBERG, table, write, values={"branch": _quoted(cursor)})
    replaces = cursor.take("CREATE", "OR", "REPLACE", "BRANCH") or cursor.take("REPLACE", "BRANCH")
    if not replaces and not cursor.take("CREATE", "BRANCH"):
        return None
    cursor.take("IF", "NOT", "EXISTS")
    branch = _quoted(cursor)
    version = cursor.take_number() if cursor.take("AS", "OF", "VERSION") else None
    snapshot = "" if version is None else f", snapshot => {version}"
    made = (
        f"{{call}}.create_tag(table => {{name}}, tag => {{branch}}{snapshot}), "
        "then {call}.create_branch(table => {name}, branch => {branch}, tag => {branch})"
    )
    removed = "{call}.delete_branch(table => {name}, branch => {branch}), then " if replaces else ""
    return Counterpart("CREATE BRANCH", ICEBERG, table, f"write {removed}{made}", values={"branch": branch})


def _drop_tag(cursor: Cursor) -> Counterpart | None:
    if not cursor.take("ALTER", "TABLE"):
        return None
    table = cursor.take_parts()
    if not cursor.take("DROP", "TAG"):
        return None
    if_exists = "IF EXISTS " if cursor.take("IF", "EXISTS") else ""
    name = {"tag": sql_name(cursor.next_text()) if cursor.at_name() else "…"}
    return Counterpart(
        "DROP TAG", ICEBERG, table, f"write ALTER TABLE {{table}} DELETE TAG {if_exists}{{tag}}", values=name
    )


def _quoted(cursor: Cursor) -> str:
    """Read a name, and return it as a string literal."""
    return quoted_text(cursor.next_text()) if cursor.at_name() else "'…'"


_PROCEDURES: Mapping[str, str] = {
    "add_files": "write {call}.migrate_table(source_type => 'hive', table => {name})",
    "ancestors_of": "write SELECT * FROM {snapshots}",
    "cherrypick_snapshot": "write INSERT INTO {table} SELECT …, with the rows of the snapshot",
    "compute_table_stats": "write ANALYZE TABLE {table} COMPUTE STATISTICS FOR ALL COLUMNS",
    "compute_partition_stats": "write ANALYZE TABLE {table} COMPUTE STATISTICS",
    "create_changelog_view": "read {audit_log}, or query paimon_incremental_query({name}, 1, 2)",
    "expire_snapshots": "write {call}.expire_snapshots(table => {name}, older_than => …, retain_min => …)",
    "fast_forward": "write {call}.fast_forward(table => {name}, branch => …)",
    "migrate": "write {call}.migrate_table(source_type => 'hive', table => {name})",
    "publish_changes": "write to a branch, then {call}.fast_forward(table => {name}, branch => …)",
    "register_table": "write {call}.repair({name})",
    "remove_orphan_files": "write {call}.remove_orphan_files(table => {name}, older_than => …)",
    "rewrite_data_files": "write {call}.compact(table => {name})",
    "rewrite_manifests": "write {call}.compact_manifest({name})",
    "rewrite_position_delete_files": "write {call}.compact(table => {name}, compact_strategy => 'full')",
    "rollback_to_snapshot": "write {call}.rollback(table => {name}, version => …)",
    "rollback_to_timestamp": "write {call}.rollback_to_timestamp(table => {name}, timestamp => …)",
    "set_current_snapshot": "write {call}.rollback(table => {name}, version => …)",
    "snapshot": "write {call}.copy(source_table => {name}, target_table => …)",
}


def _procedure(cursor: Cursor) -> Counterpart | None:
    """`CALL [catalog.]system.name('db.t', …)`, which no Paimon catalog has."""
    cursor.next()
    called = cursor.take_parts()
    if len(called) < 2 or called[-2].lower() != "system" or (write := _PROCEDURES.get(called[-1].lower())) is None:
        return None
    table = _first_argument(cursor)
    if len(table) < 3:
        table = (*called[:-2], *table)
    return Counterpart(f"CALL system.{called[-1].lower()}", ICEBERG, table, write, "")


def _first_argument(cursor: Cursor) -> Name:
    """The table among the arguments of a call: the first one, or the one named `table` or `source_table`."""
    arguments = list(range(cursor.index + 1, cursor.tokens.closings.get(cursor.index, cursor.index)))
    texts = [index for index in arguments if cursor.tokens.is_string(index)]
    named = [
        index
        for index in texts
        if cursor.tokens.symbols[index - 1] in ("=>", ">")
        and any(symbol in ("TABLE", "SOURCE_TABLE") for symbol in cursor.tokens.symbols[index - 3 : index])
    ]
    chosen = (named or texts)[:1]
    return tuple(part.strip("`") for part in cursor.tokens.text(chosen[0]).split(".")) if chosen else ()


_READERS: Mapping[str, tuple[Callable[[Cursor], Counterpart | None], ...]] = {
    "vacuum": (_vacuum,),
    "optimize": (_optimize,),
    "reorg": (_reorg,),
    "restore": (_restore,),
    "generate": (_generate,),
    "fsck": (_fsck,),
    "convert": (_convert,),
    "undrop": (_undrop,),
    "analyze": (_delta_statistics,),
    "create": (_clone,),
    "describe": (_describe,),
    "desc": (_describe,),
    "alter": (_drop_feature, _partition_field, _write_order, _identifier_fields, _branch, _drop_tag),
    "call": (_procedure,),
    "select": (_changes, _at_version),
    "with": (_changes, _at_version),
}
