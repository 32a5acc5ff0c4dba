"""Mistakes that could be made in the product, or were made elsewhere. A simulator that does not find them is worth
nothing: each is planted in turn, and histories are run until one fails.

A mistake is a replacement of one function of the product, for as long as a history runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

from paimon_core import insert
from paimon_core import table as table_module
from paimon_core.commit import commit, draft, publish
from paimon_core.errors import PaimonError, StorageRefusedError
from paimon_core.maintenance import fast_forward, references, release, remaining, rollback, snapshot_expiry, tags
from paimon_core.maintenance.orphans import search
from paimon_core.row_level import key_deletes, removed_rows, statement
from paimon_core.scan import chain
from paimon_core.scan.changes import plan as changes_plan
from paimon_core.store import manifests, snapshots
from paimon_core.write.compaction import bucket_steps
from paimon_sql.catalog.schema_files import SchemaFiles
from paimon_sql.procedures import files

Planted = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """`story` is what goes wrong because of it."""

    name: str
    story: str
    plant: Planted


def _replaced(*changes: tuple[ModuleType | type, str, Any]) -> Planted:
    def plant() -> AbstractContextManager[object]:
        stack = ExitStack()
        for place, name, value in changes:
            stack.enter_context(patch.object(place, name, value))
        return stack

    return plant


def _nothing(*values: Any) -> None:
    """Instead of a check."""


# -- the commit
def _believes_the_answer(store: Any, attempts: Any, outcome: Any = None) -> Any:
    draft_made = attempts.open.pop()
    attempts.open.clear()
    return draft_made if outcome is publish.PublishOutcome.PUBLISHED else None


def _takes_errors_for_lost_races(self: Any, path: str, data: bytes) -> publish.PublishOutcome:
    try:
        created = publish.create_new(self.io, path, data)
    except StorageRefusedError:
        raise
    except OSError:
        created = False
    return publish.PublishOutcome.PUBLISHED if created else publish.PublishOutcome.LOST_RACE


@contextmanager
def _undone_on_any_failure(undo: Callable[[], object], *more: type[Exception]) -> Any:
    try:
        yield
    except PaimonError:
        undo()
        raise


def _numbers_again(store: Any, attempts: Any, outcome: Any = None) -> Any:
    """An unknown outcome is tried again under the next number, while the first request may be under way."""
    found = _resolve(store, attempts, outcome)
    if found is None and outcome is None:
        attempts.open.clear()
    return found


_resolve, _write_draft, _attempt = commit._resolve, commit.write_draft, commit._attempt


def _deletes_drafts_too_early(store: Any, attempts: Any, outcome: Any = None) -> Any:
    found = _resolve(store, attempts, outcome)
    if found is None:
        manifests.delete_manifests(store, [name for d in attempts.open for name in d.written])
    return found


def _plans_once(plans: dict[int, Any]) -> Callable[..., Any]:
    """The live files and the indexes are those of the first try."""

    def attempt(store: Any, change: Any, latest: Any) -> Any:
        made = _attempt(store, change, latest)
        first = plans.setdefault(id(change), (change, made))[1]
        return replace(made, live=first.live, entries=first.entries, indexes=first.indexes)

    return attempt


def _plant_old_plans() -> AbstractContextManager[object]:
    return patch.object(commit, "_attempt", _plans_once({}))


def _without_rule(name: str) -> Planted:
    def plant() -> AbstractContextManager[object]:
        rules = commit.find_conflict.__globals__
        return patch.dict(rules, RULES=tuple(r for r in rules["RULES"] if r.__name__ != name))

    return plant


def _forgets_the_rest(store: Any, found: Any) -> Any:
    return list(found)[-2:]


def _numbers_rows_anew(entries: Any, snapshot_id: int, next_row_id: int) -> Any:
    return _number_rows(entries, snapshot_id, 0)


_number_rows = commit.number_rows


# -- snapshots
def _trusts_the_hint(store: Any) -> Any:
    hint = snapshots._read_hint(store, store.paths.latest_hint)
    found = None if hint is None else snapshots.find_snapshot(store, hint)
    return snapshots._listed(store, -1) if found is None else found


def _remembers_snapshots() -> AbstractContextManager[object]:
    known: dict[str, Any] = {}
    read = snapshots._read

    def remembered(store: Any, snapshot_id: int) -> Any:
        path = store.paths.snapshot(snapshot_id)
        if path not in known:
            known[path] = read(store, snapshot_id)
        return known[path]

    return patch.object(snapshots, "_read", remembered)


# -- upkeep
def _sees_no_tags(store: Any) -> Any:
    return references.Versions(store, tuple(snapshots.list_snapshots(store)), tuple(references.list_changelogs(store)))


def _main_only(store: Any) -> list[Any]:
    return [replace(store, branch="", schema=references.branch_schema(store, "") or store.schema)]


def _needs_nothing_else(removed: Any, needed: Any, *, oldest: bool) -> Any:
    return iter(())


def _without_own(self: Any, store: Any, snapshot: Any) -> Any:
    yield store.paths.manifest(snapshot.base_manifest_list)
    yield store.paths.manifest(snapshot.delta_manifest_list)


def _keeps_one_too_few(self: Any, ids: Any, time_of: Any, first_read: Any) -> Any:
    return max(_first_kept(self, ids, time_of, first_read), min(ids[-1], ids[0] + 1)) + 1


_first_kept, _cut = snapshot_expiry.Retention.first_kept, rollback._cut_snapshots
_release = release.release


class _Without:
    """A storage that does not list some files."""

    def __init__(self, io: Any, paths: Collection[str]) -> None:
        self._io, self._paths = io, frozenset(paths)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)

    def list(self, path: str) -> Any:
        return (file for file in self._io.list(path) if file.path not in self._paths)


def _deletes_before(removed: Any, remove: Any, delete: Any = None, **more: Any) -> None:
    """Files are deleted before the versions are removed that need them."""
    store = removed.store
    gone = [store.paths.snapshot(s.id) for s in removed.snapshots]
    gone += [store.paths.changelog(c.id) for c in removed.changelogs]
    seen = replace(removed, store=replace(store, io=_Without(store.io, gone)))
    _release(seen, lambda: None, delete, **more)
    remove()


@contextmanager
def _no_turn(store: Any, patience: Any = None) -> Any:
    yield store


def _wall_clock(store: Any) -> int:
    return time.time_ns() // 1_000_000


def _looks_once(store: Any, look: Callable[[], Any]) -> Any:
    return look()


def _ignores_age(store: Any, folder: Any, older_than: int) -> Any:
    return _old_files(store, folder, 2**62)


_old_files = search.old_files


def _cuts_from_the_first(store: Any, last: Any) -> None:
    for number in (n for n in snapshots.snapshot_ids(store) if last is None or n > last.id):
        store.delete(store.paths.snapshot(number))


def _kept_anyway(store: Any, tag: Any) -> bool:
    return True


def _drops_schemas_first(self: Any, path: str) -> None:
    folders = {f.name for f in self.io.list(path) if f.is_dir}
    for name in sorted(folders, key=lambda n: (n != "schema", n)):
        self.io.delete_dir(f"{path}/{name}")
    self.io.delete_dir(path)


_links = chain._Chain._links


def _starts_from_the_first(self: Any, partition: bytes) -> Any:
    """The changes are put on the oldest full partition, not on the last one before them."""
    anchor, links = _links(self, partition)
    if anchor is None:
        return anchor, links
    group = self.ranks[partition][0]
    full = [p for p in self.whole if self.ranks[p][0] == group]
    return min(full, key=lambda p: self.ranks[p][1]), links


# -- rows
def _no_numbers(store: Any, snapshot: Any) -> int:
    return -1


def _forgets_deletes(store: Any, *, drop_delete: bool) -> Any:
    return _merge_spec(store, drop_delete=True)


_merge_spec = bucket_steps.merge_spec


BUGS = (
    PlantedBug(
        "other buckets",
        "keys are looked for in buckets that they are not in",
        _replaced((key_deletes, "_check_bucket_numbers", _nothing)),
    ),
    PlantedBug(
        "common files",
        "a diff leaves out files that decide",
        _replaced((changes_plan, "_older", lambda common, files: common)),
    ),
    PlantedBug("no column conflicts", "values of new columns are lost", _without_rule("column_conflict")),
    PlantedBug(
        "no read-back", "the storage's answer is believed", _replaced((commit, "_resolve", _believes_the_answer))
    ),
    PlantedBug(
        "errors are lost races",
        "409 and lost answers are taken for a lost race",
        _replaced((publish.AtomicPublisher, "publish", _takes_errors_for_lost_races)),
    ),
    PlantedBug(
        "undone where unknown",
        "files are deleted although the commit may be visible",
        _replaced(
            *((m, "on_certain_failure", _undone_on_any_failure) for m in (commit, insert, table_module, statement))
        ),
    ),
    PlantedBug("next number", "an unknown outcome is tried again", _replaced((commit, "_resolve", _numbers_again))),
    PlantedBug(
        "drafts deleted",
        "manifests of an open draft are deleted",
        _replaced((commit, "_resolve", _deletes_drafts_too_early)),
    ),
    PlantedBug("no conflicts", "every change fits", _replaced((commit, "find_conflict", lambda attempt: None))),
    PlantedBug("no file conflicts", "files are replaced twice", _without_rule("file_conflict")),
    PlantedBug("no index conflicts", "deletion vectors of another snapshot", _without_rule("index_conflict")),
    PlantedBug("no lookup conflicts", "a key goes into two buckets", _without_rule("lookup_conflict")),
    PlantedBug("old plans", "a lost race is tried again as first planned", _plant_old_plans),
    PlantedBug("lost manifests", "merging forgets manifests", _replaced((draft, "merge_manifests", _forgets_the_rest))),
    PlantedBug("row ids again", "row ids are given twice", _replaced((commit, "number_rows", _numbers_rows_anew))),
    PlantedBug("no withdrawal", "rolled back rows come back", _replaced((commit, "withdrawn", lambda *_: False))),
    PlantedBug(
        "hint trusted",
        "the latest hint is believed",
        _replaced(
            *((m, "latest_snapshot", _trusts_the_hint) for m in (snapshots, commit, table_module)),
        ),
    ),
    PlantedBug("snapshots remembered", "numbers that are used again are not read again", _remembers_snapshots),
    PlantedBug("tags not kept", "expiry does not see tags", _replaced((remaining, "_tagged", lambda *_: []))),
    PlantedBug("nothing else needed", "expiry asks nobody", _replaced((release, "still_needed", _needs_nothing_else))),
    PlantedBug(
        "deleted first", "files go before their versions", _replaced((snapshot_expiry, "release", _deletes_before))
    ),
    PlantedBug(
        "one too few", "expiry counts wrong", _replaced((snapshot_expiry.Retention, "first_kept", _keeps_one_too_few))
    ),
    PlantedBug("orphans: tags", "the search does not see tags", _replaced((search, "versions_of", _sees_no_tags))),
    PlantedBug(
        "orphans: branches", "the search does not see branches", _replaced((search, "branch_stores", _main_only))
    ),
    PlantedBug(
        "orphans: indexes",
        "the search does not know what a snapshot has besides data",
        _replaced((references.NeededFiles, "metadata", _without_own)),
    ),
    PlantedBug("orphans: age", "files of writers at work are orphans", _replaced((search, "old_files", _ignores_age))),
    PlantedBug("orphans: clock", "age is by the host's clock", _replaced((files, "storage_now", _wall_clock))),
    PlantedBug(
        "orphans: one look", "versions made meanwhile are not seen", _replaced((search, "in_peace", _looks_once))
    ),
    PlantedBug("tags of nothing", "a tag is made of what expires", _replaced((tags, "is_kept", _kept_anyway))),
    PlantedBug("cut upwards", "a rollback leaves gaps", _replaced((rollback, "_cut_snapshots", _cuts_from_the_first))),
    PlantedBug(
        "unchecked copies",
        "fast-forward copies what others delete: it takes no turn, and does not look afterwards",
        _replaced((fast_forward, "upkeep_turn", _no_turn), (fast_forward, "_check_source", _nothing)),
    ),
    PlantedBug("young partitions", "rows expire that came meanwhile", _without_rule("age_conflict")),
    PlantedBug(
        "first anchor",
        "a partition is made of the oldest full one",
        _replaced((chain._Chain, "_links", _starts_from_the_first)),
    ),
    PlantedBug(
        "schemas dropped first",
        "a table that was dropped by half has rows, and the next one shows them",
        _replaced((SchemaFiles, "drop", _drops_schemas_first)),
    ),
    PlantedBug(
        "numbers reused",
        "rows get sequence numbers that older ones have",
        _replaced((table_module, "max_sequence_number", _no_numbers)),
    ),
    PlantedBug("vectors unchecked", "rows are deleted twice", _replaced((removed_rows, "_check_unmarked", _nothing))),
    PlantedBug(
        "deletes forgotten",
        "older rows of deleted keys come back",
        _replaced((bucket_steps, "merge_spec", _forgets_deletes)),
    ),
)
