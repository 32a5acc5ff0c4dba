"""INSERT, INSERT OVERWRITE, TRUNCATE, DELETE, UPDATE and MERGE INTO, into tables of every kind."""

from __future__ import annotations

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.expressions.predicate import Compare
from tests.support.place import Place
from tests.support.row_changes import delete, merge, update
from tests.support.statements.kind import HIDDEN, LAYOUT, Run, Statement

OLD, NEW = [(1, "old"), (2, "old")], [(2, "new"), (3, "new")]
KEYED = {"keys": "k", "bucket": "2"}
EVOLVED = {"row_tracking__enabled": "true", "data_evolution__enabled": "true"}
VECTORS = {"deletion_vectors__enabled": "true"}


def table_of(*loads: list[tuple[object, ...]], **options: str) -> Run:
    """Return a preparation: a table with these options, with an INSERT for each of the loads."""

    def prepare(place: Place) -> None:
        place.create(**options)
        for rows in loads:
            place.insert(rows)

    return prepare


def shown_later(options: dict[str, str]) -> frozenset[str]:
    """Return the parts of a table that change when its rows are compacted after the commit."""
    skips_level_0 = VECTORS.items() <= options.items() or options.get("merge_engine") == "first-row"
    return LAYOUT | HIDDEN if "keys" in options and skips_level_0 else LAYOUT


def insert(name: str, more: str = "", **options: str) -> Statement:
    """INSERT of `NEW` into a table that has `OLD`; `more` are values of further columns."""
    old, new = ([(*row, *more) for row in rows] for rows in (OLD, NEW))
    prepare = table_of(old, **options)
    return Statement(
        f"INSERT {name}",
        prepare,
        lambda place: place.insert(new),
        upkeep=shown_later(options),
        repeatable="keys" in options,
    )


INSERTS = [
    insert("append"),
    insert("append, fixed buckets", bucket="2", bucket_key="k"),
    insert("append, partitions", "a", columns="k v p", by="p"),
    insert("append, file index", file_index__bloom_filter__columns="k"),
    insert("append, orc", file__format="orc"),
    insert("append, avro", file__format="avro"),
    insert("row tracking", row_tracking__enabled="true"),
    insert("data evolution", **EVOLVED),
    insert("keyed", **KEYED),
    insert("keyed, one run", **KEYED, num_sorted_run__compaction_trigger="1"),
    insert("keyed, dynamic buckets", keys="k", bucket="-1"),
    insert("keyed, other partition", "a", keys="k", bucket="-1", columns="k v p", by="p"),
    insert("keyed, postponed", keys="k", bucket="-2", postpone__default_bucket_num="2"),
    insert("keyed, stays postponed", keys="k", bucket="-2", postpone__batch_write_fixed_bucket="false"),
    insert("keyed, vectors", **KEYED, **VECTORS),
    insert("first-row", **KEYED, merge_engine="first-row"),
    insert("partial-update", **KEYED, merge_engine="partial-update"),
    insert("aggregation", **KEYED, merge_engine="aggregation", fields__v__aggregate_function="last_value"),
    insert("changelog input", **KEYED, changelog_producer="input"),
    insert("changelog lookup", **KEYED, changelog_producer="lookup"),
    insert("changelog full-compaction", **KEYED, changelog_producer="full-compaction"),
    insert("with upkeep", snapshot__num_retained__min="1", snapshot__num_retained__max="1"),
]


def overwrite(name: str, how: Overwrite, **options: str) -> Statement:
    """Return an INSERT OVERWRITE of partition `a` of a table with `a` and `b`."""
    old = [(1, "old", "a"), (2, "old", "b")]
    return Statement(
        f"INSERT OVERWRITE {name}",
        table_of(old, columns="k v p", by="p", **options),
        lambda place: place.insert([(3, "new", "a")], overwrite=how),
        upkeep=LAYOUT,
    )


STATIC, DYNAMIC = Overwrite(predicate=Compare("p", "=", "a")), Overwrite(dynamic=True)
OVERWRITES = [
    overwrite("static", STATIC),
    overwrite("dynamic", DYNAMIC),
    overwrite("whole", Overwrite()),
    overwrite("keyed, static", STATIC, keys="k p", bucket="2"),
    overwrite("keyed, dynamic", DYNAMIC, keys="k p", bucket="2"),
    overwrite("keyed, dynamic buckets, whole", Overwrite(), keys="k p", bucket="-1"),
    overwrite("keyed, postponed, dynamic", DYNAMIC, keys="k p", bucket="-2", postpone__default_bucket_num="1"),
    overwrite("keyed, lookup, whole", Overwrite(), keys="k p", bucket="1", changelog_producer="lookup"),
]


def truncate(place: Place, where: Compare | None = None) -> None:
    table = place.table()
    table.truncate(CommitInfo(user=table.new_commit_user()), where)


TRUNCATES = [
    Statement("TRUNCATE append", table_of(OLD), truncate),
    Statement("TRUNCATE keyed", table_of(OLD, **KEYED), truncate),
    Statement(
        "TRUNCATE PARTITION",
        table_of([(1, "old", "a"), (2, "old", "b")], columns="k v p", by="p"),
        lambda place: truncate(place, Compare("p", "=", "a")),
    ),
]


def run_delete(place: Place) -> None:
    table = place.table()
    delete(table, {1, 3}).commit(table)


def run_update(place: Place) -> None:
    table = place.table()
    update(table, {1, 3}).commit(table)


def run_merge(place: Place) -> None:
    table = place.table()
    merge(table, updated=1, deleted=2).commit(table)


ROW_LEVEL_TABLES = {
    "append": {},
    "fixed buckets": {"bucket": "2", "bucket_key": "k"},
    "vectors": VECTORS,
    "row tracking": {"row_tracking__enabled": "true"},
    "data evolution": EVOLVED | VECTORS,
    "keyed": {"keys": "k", "bucket": "1", "write_only": "true"},
    "keyed, vectors": {"keys": "k", "bucket": "1"} | VECTORS,
    "keyed, dynamic buckets": {"keys": "k", "bucket": "-1"},
    "postponed": {"keys": "k", "bucket": "-2", "postpone__default_bucket_num": "1"},
}
KEY_DELETES = {
    f"{engine}, keys deleted": {"keys": "k", "bucket": "1", "merge_engine": engine}
    for engine in ("aggregation", "partial-update", "first-row")
}
CHANGES = [
    Statement(f"{verb} {name}", table_of(OLD, [(3, "old"), (4, "old")], **options), run, upkeep=shown_later(options))
    for verb, run, tables in (
        ("DELETE", run_delete, ROW_LEVEL_TABLES | KEY_DELETES),
        ("UPDATE", run_update, ROW_LEVEL_TABLES),
        ("MERGE", run_merge, ROW_LEVEL_TABLES),
    )
    for name, options in tables.items()
]


def insert_files(name: str, how: Overwrite | None, **options: str) -> Statement:
    """Return an INSERT into a format table: its files become visible one by one, and then old ones are deleted."""
    verb = "INSERT" if how is None else "INSERT OVERWRITE"
    made = {"type": "format-table", "columns": "k v p", "by": "p"} | options
    old = [(1, "old", "a"), (2, "old", "b")]
    run: Run = lambda place: place.insert([(3, "new", "a")], overwrite=how)  # noqa: E731
    return Statement(
        f"{verb} {name}", table_of(old, **made), run, commits=False, steps=how is not None, repeatable=how is not None
    )


FORMAT_TABLES = [
    insert_files("format table, csv", None, file__format="csv"),
    insert_files("format table, parquet", None, file__format="parquet"),
    insert_files("format table, static", STATIC, file__format="csv"),
    insert_files("format table, dynamic", DYNAMIC, file__format="json"),
]

WRITES = [*INSERTS, *OVERWRITES, *TRUNCATES, *CHANGES, *FORMAT_TABLES]
