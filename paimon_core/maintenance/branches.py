"""Create, remove and merge branches.

A branch has its own schemas, snapshots and tags; its manifests and data files are in the table's folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from paimon_core.errors import (
    BranchExistsError,
    CommitUnknownError,
    InvalidDataError,
    InvalidNameError,
    InvalidOptionError,
    SnapshotNotFoundError,
    TagNotFoundError,
    UnreadableFileError,
)
from paimon_core.maintenance.references import versions_of
from paimon_core.maintenance.release import release
from paimon_core.maintenance.rollback import cut_history
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.options import DATA_EVOLUTION, ROW_TRACKING
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema, encode_schema
from paimon_core.spec.snapshot import CommitKind, Snapshot, encode_snapshot
from paimon_core.spec.tag import Tag, encode_tag
from paimon_core.store.branches import LENDING, branch_names, branch_schema, open_branch
from paimon_core.store.ddl.constraints import check_takes_rows
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import list_schemas, schema_ids
from paimon_core.store.snapshots import list_snapshots, reset_hints
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, require_tag

_INSTEAD = " INSERT the missing rows into the other branch instead."


def check_branch_name(name: str) -> str:
    """Return `name` if it is a valid name of a branch. Raises `InvalidNameError`."""
    check_name("branch", name)
    if name == MAIN_BRANCH:
        raise InvalidNameError(
            f"The branch name {MAIN_BRANCH!r} is reserved for the table itself: choose another name."
        )
    if name.isdigit():
        raise InvalidNameError(f"The branch name {name!r} is a number: a branch needs a name with a letter.")
    return name


def create_branch(store: TableStore, name: str, tag: str | None = None) -> None:
    """Create a branch: from a tag with its rows, or without a tag with only the schema.

    Raises `BranchExistsError`, `InvalidNameError`, `TagNotFoundError`.
    """
    check_branch_name(name)
    with upkeep_turn(store) as held:
        if branch_exists(held, name):
            known = ", ".join(branch_names(held))
            raise BranchExistsError(
                f"Branch {name!r} of table {store.identifier} already exists; its branches are {known}. "
                "Choose another name."
            )
        start = None if tag is None else require_tag(held, tag)
        if name in branch_names(held):
            _remove(_any_branch(held, name))  # its creation or deletion stopped halfway
        branch = replace(held, branch=name)
        if start is not None:
            _start_at(branch, start)
        publish_schemas(branch, list_schemas(held), store.schema.id if start is None else start.snapshot.schema_id)
        # If the tag no longer exists, the files of the branch may be deleted.
        if start is not None and not _is_still(held, start, name):
            branch.delete_dir(branch.paths.version_root)
            raise TagNotFoundError(
                f"Tag {tag!r} of table {store.name} was deleted or replaced meanwhile; no branch was created. "
                "Run the statement again."
            )


def _is_still(store: TableStore, tag: Tag, branch: str) -> bool:
    try:
        return read_tag(store, tag.name) == tag
    except UnreadableFileError as error:
        raise CommitUnknownError(
            f"Branch {branch!r} of table {store.name} was created, but it is unknown whether its tag was deleted "
            f"meanwhile: {error} Read the branch, or delete it and create it again."
        ) from error


def _start_at(branch: TableStore, tag: Tag) -> None:
    branch.io.replace_file(branch.paths.tag(tag.name), encode_tag(tag))
    branch.io.replace_file(branch.paths.snapshot(tag.snapshot.id), encode_snapshot(tag.snapshot))
    reset_hints(branch, tag.snapshot.id, tag.snapshot.id)


def publish_schemas(branch: TableStore, schemas: Iterable[TableSchema], last: int) -> None:
    """Write the schemas up to the id `last`, and `last` first: the branch exists from then on."""
    for schema in sorted((s for s in schemas if s.id <= last), key=lambda s: s.id, reverse=True):
        branch.io.replace_file(branch.paths.schema(schema.id), encode_schema(schema))


def branch_exists(store: TableStore, name: str) -> bool:
    """Return whether a branch exists. An incomplete branch, created or deleted only partly, does not exist."""
    return name in branch_names(store) and branch_schema(store, name) is not None


def delete_branch(store: TableStore, name: str) -> None:
    """Remove a branch, with the files that are not in any other version.

    Raises `BranchNotFoundError`, and `InvalidOptionError` if the table reads the branch."""
    check_branch_name(name)
    branch = _any_branch(store, name) if name in branch_names(store) else open_branch(store, name)
    check_unused(store, name)
    _remove(branch)


def check_unused(store: TableStore, name: str, done: str = "deleted") -> None:
    """Raise `InvalidOptionError` for a branch that the table reads. `done` is the participle for errors, such as
    "deleted".
    """
    values = open_branch(store, MAIN_BRANCH).options.values
    for option in LENDING:
        if name == values.get(option, "").strip():
            raise InvalidOptionError(
                f"Branch {name!r} cannot be {done}: table {store.identifier} reads partitions from it, by its option "
                f"'{option}'. Unset this option first."
            )


def _remove(branch: TableStore) -> None:
    def remove() -> None:
        with upkeep_turn(branch) as held:
            remove_schemas(held)
            cut_history(held, None)
            held.delete_dir(held.paths.version_root)

    release(versions_of(branch), remove)


def remove_schemas(branch: TableStore) -> None:
    """Remove the schemas of a branch. The branch then no longer exists: commits to it fail."""
    for number in sorted(schema_ids(branch.io, branch.paths.version_root)):
        branch.delete(branch.paths.schema(number))


def merge_branch(
    store: TableStore, name: str, target: str, commit: Callable[[TableStore, list[CommitMessage]], object]
) -> None:
    """Add the rows of a branch to the branch `target`. `commit` gets the target's store and the messages.

    Raises the errors of `files_to_merge`, `BranchNotFoundError`, `InvalidOptionError`."""
    with upkeep_turn(store) as held:  # the source branch keeps the files until the target does
        branch, into = open_branch(held, name), open_branch(held, target)
        if branch.branch == into.branch:
            raise InvalidOptionError(f"Branch {name!r} cannot be merged into itself. Name another branch.")
        commit(into, files_to_merge(branch, into))


def files_to_merge(source: TableStore, target: TableStore) -> list[CommitMessage]:
    """Return the files of a branch that another branch lacks, as messages to commit to the other branch.

    Both must be append tables of one schema, and must only have grown. With row tracking, the rows get new ids. Raises
    `InvalidDataError`, `SnapshotNotFoundError`.
    """
    last, last_there = _last_that_only_grew(source), _last_that_only_grew(target)
    if source.schema.fields != target.schema.fields:
        raise InvalidDataError(
            f"Branch {source.name} cannot be merged into {target.name}: their columns differ.{_INSTEAD}"
        )
    check_takes_rows(source.schema.options, target.schema.options, target.name)
    if source.options[ROW_TRACKING] != target.options[ROW_TRACKING]:
        raise InvalidDataError(
            f"Branch {source.name} cannot be merged into {target.name}: only one of them has '{ROW_TRACKING.key}'."
            f"{_INSTEAD}"
        )
    # Use the files of the checked versions: later versions may have compacted files that both branches have.
    ours, theirs = live_files(source, last), live_files(target, last_there)
    new = [e for key, e in ours.items() if key not in theirs]
    _check_schemas(source, target, new)
    # The rows of the other branch get new ids here.
    files = ((e, replace(e.file, first_row_id=None)) for e in new)
    return [
        CommitMessage(partition=e.partition, bucket=e.bucket, total_buckets=e.total_buckets, new_files=(file,))
        for e, file in files
    ]


def _last_that_only_grew(side: TableStore) -> Snapshot:
    """Return the latest snapshot.

    Raises an error if the branch may have rows that another branch has in different files.
    """
    own = list_snapshots(side)
    if not own:
        raise SnapshotNotFoundError(f"Branch {side.name} cannot be merged: it has no snapshot yet.")
    if side.has_primary_key:
        raise InvalidDataError(
            f"Branch {side.name} cannot be merged: it has a primary key. Only append tables can be merged."
        )
    if side.options[DATA_EVOLUTION]:
        raise InvalidDataError(
            f"Branch {side.name} cannot be merged: with '{DATA_EVOLUTION.key}' its files may hold parts of rows."
            f"{_INSTEAD}"
        )
    history = [*_before(side, own[0]), *own]
    if [s.id for s in history] != list(range(1, own[-1].id + 1)):
        raise InvalidDataError(
            f"Branch {side.name} cannot be merged: snapshots of it have expired, and they may have replaced or "
            f"compacted rows.{_INSTEAD}"
        )
    if any(s.commit_kind not in (CommitKind.APPEND, CommitKind.ANALYZE) for s in history):
        raise InvalidDataError(
            f"Branch {side.name} cannot be merged: rows of it were replaced or compacted, not only appended.{_INSTEAD}"
        )
    return own[-1]


def _before(side: TableStore, first: Snapshot) -> list[Snapshot]:
    """Return the table's snapshots before the first snapshot of a branch, if the branch was created from that
    snapshot.
    """
    if not side.branch:
        return []
    known = list_snapshots(open_branch(side, MAIN_BRANCH))
    same = any(s.delta_manifest_list == first.delta_manifest_list for s in known)
    return [s for s in known if s.id < first.id] if same else []


def _check_schemas(source: TableStore, target: TableStore, entries: list[ManifestEntry]) -> None:
    ours, theirs = ({s.id: s.fields for s in list_schemas(side)} for side in (source, target))
    for number in {e.file.schema_id for e in entries}:
        if ours.get(number) != theirs.get(number):
            raise InvalidDataError(
                f"Branch {source.name} cannot be merged into {target.name}: its files have schema {number}, which "
                f"differs between the two.{_INSTEAD}"
            )


def _any_branch(store: TableStore, name: str) -> TableStore:
    """Return the store of a branch, even of an incomplete branch."""
    return replace(store, branch=name, schema=branch_schema(store, name) or store.schema)
