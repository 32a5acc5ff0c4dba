"""`CALL sys.*` for orphan files, missing files, all files of a table, objects, the storage, and advice on upkeep."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from paimon_core.clock import now_millis
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, StorageError, UnsupportedFeatureError
from paimon_core.io.load import load_file_io, normalize
from paimon_core.maintenance import advice, older_readers, storage_check
from paimon_core.maintenance.orphans import search as orphans
from paimon_core.maintenance.orphans.packs import find_orphan_packs, purge, remove_orphan_packs
from paimon_core.maintenance.orphans.search import drop_missing, missing_files
from paimon_core.maintenance.running import announced
from paimon_core.maintenance.storage_clock import storage_now
from paimon_core.object_table import ObjectTable, is_object_table
from paimon_core.spec.identifier import Identifier
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.folders import LOCATION
from paimon_sql.catalog.listing import of_some
from paimon_sql.catalog.paths import is_location
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog
from paimon_sql.catalog.schema_files import check_is_table
from paimon_sql.procedures.arguments import check_parallelism, epoch_millis, given
from paimon_sql.procedures.dry_runs import trial_rows
from paimon_sql.procedures.file_tasks import check_mode, remove_orphans
from paimon_sql.procedures.registry import Int, ProcedureContext, Rows, load_table, procedure

_END_OF_TIME = 2**62  # epoch milliseconds: every file is older


@procedure(deletedFileCount="bigint", deletedFileTotalLenInBytes="bigint")
def remove_orphan_files(
    context: ProcedureContext,
    table: str,
    older_than: str | None = None,
    dry_run: bool = False,
    parallelism: Int | None = None,
    mode: str | None = None,
) -> Rows:
    """Delete files that no snapshot, tag, branch or changelog needs, of one table or of all tables (`db.*`).

    Files younger than `older_than` (`2024-01-31 12:00:00`; default: a day ago) stay: a writer may still commit them.
    Their age is by the storage's clock. With `dry_run` nothing is deleted. `mode` is `local` (in this process, with
    some threads) or `distributed` (in Spark's tasks, `parallelism` at a time); the default depends on the table's size.
    The result is the number of files, and their bytes. If one of several tables cannot be read, its files stay, and the
    reason is logged.
    """
    check_parallelism(parallelism)
    wanted, moment = given(older_than), None
    if wanted is not None:
        moment = epoch_millis("older_than", wanted, context.zone)

    def act(identifier: Identifier) -> tuple[int, int]:
        store = load_table(context.catalog, identifier).store
        before = _older_than(store, wanted, moment, dry=dry_run)
        with nullcontext() if dry_run else announced(store, "remove_orphan_files"):
            return remove_orphans(context, store, before, given(mode), parallelism, dry=dry_run)

    found = of_some(_tables(context, table), act, "cleaned")
    return [(sum(count for count, _ in found), sum(size for _, size in found))]


@procedure(deletedFileCount="bigint", deletedFileTotalLenInBytes="bigint")
def remove_orphan_blobs(
    context: ProcedureContext,
    table: str,
    older_than: str | None = None,
    dry_run: bool = False,
    parallelism: Int | None = None,
    mode: str | None = None,
) -> Rows:
    """Delete packs of BLOBs that no row of a snapshot, tag or branch needs, of one table or of all tables (`db.*`).

    Only tables with a primary key have packs. Packs younger than `older_than` (default: a day ago) stay: a writer may
    still commit them. If a `.blobref` file is missing or damaged, all packs stay, and the reason is logged. With
    `dry_run` nothing is deleted. `mode` and `parallelism` are accepted as Java's; the search runs in this process. The
    result is the number of packs, and their bytes.
    """
    check_parallelism(parallelism)
    check_mode(given(mode))
    wanted, moment = given(older_than), None
    if wanted is not None:
        moment = epoch_millis("older_than", wanted, context.zone)

    def act(identifier: Identifier) -> tuple[int, int]:
        store = load_table(context.catalog, identifier).store
        before = _older_than(store, wanted, moment, dry=dry_run)
        with nullcontext() if dry_run else announced(store, "remove_orphan_blobs"):
            found = (find_orphan_packs if dry_run else remove_orphan_packs)(store, before)
        return len(found.paths), found.size

    found = of_some(_tables(context, table), act, "cleaned")
    return [(sum(count for count, _ in found), sum(size for _, size in found))]


@procedure(file_number="bigint")
def refresh_object_table(context: ProcedureContext, table: str) -> Rows:
    """Count the files of an object table. Nothing is stored: they are listed whenever the table is read.

    The result is their number now.
    """
    identifier = context.identifier(table)
    check_is_table(identifier)
    found = context.catalog.load_table(identifier)
    if not is_object_table(found.schema.options):
        raise UnsupportedFeatureError(f"Table {found.name} is not an object table: only object tables need a refresh.")
    return [(ObjectTable.of(found.store, context.catalog.options).read().num_rows,)]


@procedure(fileName="string")
def remove_unexisting_files(
    context: ProcedureContext, table: str, dry_run: bool = False, parallelism: Int | None = None
) -> Rows:
    """Drop the entries of missing data files from the table, so that the other files can be read.

    The rows of the missing files are lost. With `dry_run` nothing changes. The result is the files' paths.
    """
    check_parallelism(parallelism)
    target = context.load_table(table)
    missing = missing_files(target.store)
    if missing and not dry_run:
        target.check_writable()
        target.commit(drop_missing(missing.values()), CommitInfo(user=target.new_commit_user()))
    return [(path,) for path in sorted(missing)]


@procedure(result="string")
def purge_files(context: ProcedureContext, table: str, dry_run: bool = False) -> Rows:
    """Empty a table, and delete all of its files at once, also branches, tags, consumers and all but one snapshot.

    No writer may run meanwhile. The result is `Success`. With `dry_run` nothing changes: the result has the versions
    that would be removed, the files and bytes that would be deleted, and the data files of each partition.
    """
    target = context.load_table(table)
    target.check_writable()

    if dry_run:
        return trial_rows("purge_files", target.store, _purge_trial, with_rows=True)
    target.truncate(CommitInfo(user=target.new_commit_user()))
    _purge(target.store, storage_now(target.store) + 1)  # so that files of this millisecond are deleted, too
    return [("Success",)]


def _purge(store: TableStore, now: int) -> None:
    purge(store, now)
    remove_orphan_packs(store, now)


def _purge_trial(trial: TableStore) -> None:
    """Purge a copy of a table in memory. The copy's name shows in the log that its commit is of a dry run."""
    store = replace(trial, identifier=replace(trial.identifier, table=f"{trial.identifier.table} (dry run)"))
    table = Table(store)
    table.truncate(CommitInfo(user=table.new_commit_user()))
    _purge(store, _END_OF_TIME)


@procedure(step="string", result="string", millis="double", detail="string")
def check_storage(context: ProcedureContext, target: str) -> Rows:
    """Check the storage of a database, or of a path (`s3://bucket/folder`), with the settings of this catalog.

    Each row is a step: `write`, `read`, `list`, `replace`, `stream`, `commit` and `delete`. Its result is `ok`,
    `failed` or `unsafe`, with the median time of one call. `commit` lets 16 writers at once create one file, 8
    times: exactly one of them must win. The steps work in a new folder, and delete it. If the warehouse has users,
    a path needs ADMIN, and a database needs CREATE_TABLE.
    """
    location = _location(context, target)
    found = storage_check.check_storage(load_file_io(location, context.catalog.options), location)
    return [(f.step, f.result, f.millis, f.detail) for f in found]


@procedure(fact="string", reason="string", statement="string")
def advise(context: ProcedureContext, table: str, deep: bool = False, readers: str | None = None) -> Rows:
    """Advise on the upkeep of a table: a fact about it, why the fact matters, and the statement that mends it.

    It reads metadata only, and changes nothing. There are rules for small files, sorted runs that wait for a
    compaction, deleted rows, rows without a bucket, sizes of buckets, snapshots and consumers that stay, missing
    statistics, filters of this process without a file index, and options that are misspelled, unsafe or without effect,
    or contradict one another.

    `deep` lists all files of the table, too, and finds files that no version needs. `readers` names engines that must
    read the table, such as 'Paimon 0.7, pypaimon 1.4.2', and adds what they misread. The result is empty if no rule
    applies.
    """
    target = context.load_table(table)
    engines = () if readers is None else older_readers.readers_of(readers)
    figures = advice.figures_of(target.store, with_orphans=deep)
    given = [*advice.advise(figures), *older_readers.advise_for_readers(target.store, figures, engines)]
    return [(a.fact, a.reason, a.for_table(context.name, target.identifier)) for a in given]


def _location(context: ProcedureContext, target: str) -> str:
    """Return the folder of a database or path. Raises `DatabaseNotFoundError`, `NoPrivilegeError`."""
    catalog, is_path = context.catalog, is_location(target)
    if isinstance(catalog, PrivilegedCatalog):
        if is_path:
            catalog.check_admin()
        else:
            catalog.check_can_create(target)
    if is_path:
        return normalize(target)
    location = catalog.database_properties(target).get(LOCATION)
    if not location:
        raise UnsupportedFeatureError(
            f"The catalog does not name the folder of database {target}: pass the path of the folder to check_storage."
        )
    return normalize(location)


def _older_than(store: TableStore, text: str | None, moment: int | None, *, dry: bool) -> int:
    """Return the time (epoch milliseconds) before which files count as old. It is `moment` if the call gave a `text`,
    and a day ago by the storage's clock otherwise.
    """
    now = _now(store, dry=dry)
    if moment is None:
        return now - orphans.DEFAULT_AGE
    if moment >= now:
        raise InvalidOptionError(
            f"older_than cannot be {text!r}: by the clock of the storage of table {store.name}, this time is in the "
            "future, and files that writers are about to commit would be deleted. Use an earlier time."
        )
    return moment


def _now(store: TableStore, *, dry: bool) -> int:
    try:
        return storage_now(store)
    except StorageError:
        if not dry:
            raise
        return now_millis()  # the user may not write to the storage, but a dry run only counts files


def _tables(context: ProcedureContext, name: str) -> list[Identifier]:
    database, _, table = name.rpartition(".")
    if table != "*":
        return [context.identifier(name)]
    return context.tables(database.rpartition(".")[2].strip("`") or context.database)
