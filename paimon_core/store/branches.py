"""Branches of a table: `branch/branch-NAME` with schemas, snapshots and tags of its own; see `spec.paths`."""

from __future__ import annotations

from dataclasses import replace

from paimon_core.errors import BranchNotFoundError
from paimon_core.options import SCAN_FALLBACK_BRANCH, SCAN_PRIMARY_BRANCH, TableOptions
from paimon_core.spec.identifier import MAIN_BRANCH
from paimon_core.spec.paths import BRANCH_PREFIX, TablePaths, is_file_name
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import latest_schema, load_schema, schema_ids
from paimon_core.store.table_store import TableStore

# Options that name a branch from which a table reads rows. A copy of the table has no branches.
LENDING = (SCAN_FALLBACK_BRANCH.key, SCAN_PRIMARY_BRANCH.key)


def branch_times(store: TableStore) -> dict[str, int]:
    """Return the creation time of every branch except main (epoch milliseconds), by its name, sorted."""
    folders = [f for f in store.io.list(store.paths.branch_dir) if f.is_dir and f.name.startswith(BRANCH_PREFIX)]
    return {f.name.removeprefix(BRANCH_PREFIX): f.modified for f in sorted(folders, key=lambda f: f.name)}


def branch_names(store: TableStore) -> list[str]:
    """Return the names of all branches except main, sorted."""
    return list(branch_times(store))


def open_branch(store: TableStore, name: str) -> TableStore:
    """Return the store of a branch, with its own latest schema. Raises `BranchNotFoundError`, which lists the
    branches."""
    branch = "" if name == MAIN_BRANCH else name
    schema = branch_schema(store, branch)
    if schema is None:
        names = branch_names(store)
        if name in names:
            raise BranchNotFoundError(
                f"Branch {name!r} of table {store.identifier} is incomplete: its creation or deletion stopped halfway. "
                "Call delete_branch to remove the rest of it, or create_branch to create it again."
            )
        known = ", ".join([MAIN_BRANCH, *names])
        raise BranchNotFoundError(f"Table {store.identifier} has no branch {name!r}; its branches are {known}.")
    return store.under(schema, branch)


def open_lending_branch(store: TableStore, name: str) -> TableStore:
    """Return the store of a branch that is read together with `store`.

    It has the branch's newest schema with the columns of `store`, because `store` may be an older version of the table.
    If no schema of the branch has these columns, it has the branch's latest schema. Raises `BranchNotFoundError`.
    """
    branch = open_branch(store, name)
    if have_same_columns(store.schema, branch.schema):
        return branch
    root = branch.paths.version_root
    earlier = (load_schema(store.io, root, n) for n in reversed(schema_ids(store.io, root)) if n != branch.schema.id)
    return replace(branch, schema=next((s for s in earlier if have_same_columns(store.schema, s)), branch.schema))


def have_same_columns(one: TableSchema, other: TableSchema) -> bool:
    """Return whether two schemas have the same columns, nullability and field ids aside, and partition columns."""
    names, others = ([(f.name, f.type.with_nullable(True)) for f in s.fields] for s in (one, other))
    return names == others and one.partition_keys == other.partition_keys


def check_lending_branches(store: TableStore, options: TableOptions) -> None:
    """Raise `BranchNotFoundError` if the options make a table read from a branch that does not exist."""
    for option in (SCAN_FALLBACK_BRANCH, SCAN_PRIMARY_BRANCH):
        name = options[option]
        if name and branch_schema(store, "" if name == MAIN_BRANCH else name) is None:
            known = ", ".join([MAIN_BRANCH, *branch_names(store)])
            raise BranchNotFoundError(
                f"Option '{option.key}' cannot be {name!r}: table {store.identifier} has no such branch; its branches "
                f"are {known}."
            )


def branch_schema(store: TableStore, branch: str) -> TableSchema | None:
    """Return the latest schema of a branch ("" is main), or None if the branch does not exist."""
    if branch and not is_file_name(branch):
        return None
    return latest_schema(store.io, TablePaths(store.root, branch=branch).version_root, store.cache)
