"""Rename a branch: in one step of the storage if commits queue, else by a move that loses no commit.

Object stores rename a folder by copying and deleting each file, and a commit may come in between. So the move first
copies everything, and there are two branches. Then it removes the schemas of the old branch. From then on, a commit to
the old branch finds no schema and withdraws its snapshot (`commit/withdraw.py`). Commits made before that are copied,
too, before the rest is deleted. If the process is killed on the way, both branches remain, or the new branch and a
folder without schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from paimon_core.commit.publish import create_if_missing
from paimon_core.errors import BranchExistsError, CommitConflictError
from paimon_core.io.file_io import FileIO, walk
from paimon_core.maintenance.branches import check_branch_name, check_unused, publish_schemas, remove_schemas
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.schemas import list_schemas
from paimon_core.store.snapshots import history_ids, reset_hints
from paimon_core.store.table_store import TableStore


def rename_branch(store: TableStore, name: str, target: str) -> None:
    """Rename a branch.

    Raises `BranchNotFoundError`, `BranchExistsError`, `InvalidNameError`, `InvalidOptionError` if the table reads the
    branch, and `CommitConflictError` if both branches
    remain because both got new rows meanwhile."""
    check_branch_name(name)
    check_branch_name(target)
    with upkeep_turn(store) as held:
        old = open_branch(held, name)
        if target in branch_names(held):
            raise BranchExistsError(
                f"Branch {target!r} of table {store.identifier} already exists: choose another name."
            )
        check_unused(held, name, "renamed")
        new = replace(old, branch=target)
        if held.turn is not None and held.turn.is_alone:
            held.io.rename_dir(old.paths.version_root, new.paths.version_root)
        else:
            _move(old, new)


def _move(old: TableStore, new: TableStore) -> None:
    schemas = list_schemas(old)
    _copy(old, new)
    publish_schemas(new, schemas, schemas[-1].id)
    remove_schemas(old)
    if not _copy(old, new):
        publish_schemas(old, schemas, schemas[-1].id)
        raise CommitConflictError(
            f"Branch {old.name} was not renamed: another writer wrote rows to it and to {new.name} meanwhile. Both "
            "branches remain: delete one of them."
        )
    old.delete_dir(old.paths.version_root)


def _copy(old: TableStore, new: TableStore) -> bool:
    """Copy files that the new branch does not have yet, except schemas and hints.

    Return False if the new branch has another snapshot with the number of a copied snapshot."""
    source, target = old.paths.version_root, new.paths.version_root
    apart = (f"{old.paths.schema_dir}/", old.paths.latest_hint, old.paths.earliest_hint)
    for path in (p for p in _files_below(old.io, source) if not p.startswith(apart)):
        try:
            data = old.io.read_bytes(path)
        except FileNotFoundError:
            continue
        copy = target + path[len(source) :]
        old.check_turn()
        is_new = create_if_missing(old.io, copy, data)
        if not is_new and path.startswith(old.paths.snapshot_dir) and old.io.read_bytes(copy) != data:
            return False
    ids = history_ids(new)
    if ids:
        reset_hints(new, ids[0], ids[-1])
    return True


def _files_below(io: FileIO, folder: str) -> Iterator[str]:
    return (found.path for found in walk(io, folder) if not found.is_dir and not found.is_link)
