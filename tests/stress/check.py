"""What has to hold of rows that were read, and of a table when its processes have ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from paimon_core.io.file_io import is_temporary
from paimon_core.io.side_by_side import missing_paths, side_by_side
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.references import NeededFiles, branch_stores, versions_of
from paimon_core.store.branches import branch_names
from paimon_core.store.snapshots import list_snapshots
from paimon_core.store.tags import tag_names
from paimon_core.table import Table
from tests.stress.rows import Commit, Kind, Row
from tests.stress.run import BRANCH_WRITER, Run, rows_of
from tests.support.all_tags import list_tags
from tests.support.stored import compact

FOREVER = 2**62  # as a moment: everything is older
_FOLDERS = ("manifest", "index", "statistics")
_MOST_FAILED = 20  # commits of a writer that commits nothing


def check_rows(
    kind: Kind, rows: list[Row], *, must: frozenset[Commit], may: frozenset[Commit] | None
) -> frozenset[Commit]:
    """The commits that rows show: all of `must`, none but those of `may` (None: any), each whole and once."""
    found = kind.commits_in(rows)
    lost = must - found - kind.hidden(found)
    assert not lost, f"{len(lost)} acknowledged commits are lost: {sorted(lost)[:5]}"
    assert may is None or found <= may, f"nobody committed these: {sorted(found - may)[:5]}"
    there, expected = Counter(rows), kind.after(found)
    missing, extra = expected - there, there - expected
    assert not missing and not extra, f"missing {list(missing.items())[:5]}, extra {list(extra.items())[:5]}"
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was found when all was well."""

    acknowledged: int
    unknown: int  # tried by a process that was killed: there wholly, or not at all
    unknown_there: int
    failed: int  # with an error that says so: not there
    snapshots: int
    cleaned: int  # orphans that were cleaned while it ran
    orphans: int  # files that no version names when all has ended
    orphan_data_files: int  # of both, those with rows


def _check_writers(run: Run) -> None:
    """Raise an error if every commit of a writer failed: the run has not tested that writer."""
    for number in range(run.writers):
        journal = run.journal(f"writer-{number}")
        errors = [line[1:] for line in journal.lines("failed")]
        assert len(errors) < _MOST_FAILED or journal.numbers("acknowledged"), (
            f"writer {number} committed nothing: {' '.join(errors[-1])}"
        )


def check_table(run: Run) -> Figures:
    """Look at the table of a run whose processes have ended, compact and clean it, and look again."""
    tried, acknowledged, failed = (run.commits_said(word) for word in ("tried", "acknowledged", "failed"))
    _check_writers(run)
    table = run.open()
    found = check_rows(run.kind, rows_of(table, table.latest_snapshot()), must=acknowledged, may=tried - failed)
    snapshots = list_snapshots(table.store)
    _check_snapshots(run, table)
    _check_names(run, table)
    _check_versions(run, table, tried)
    left = _unneeded(table)
    compact(table)
    remove_orphans(table.store, FOREVER)
    remains = _unneeded(run.open())
    assert not remains, f"orphans remain: {sorted(remains)[:5]}"
    _check_versions(run, run.open(), tried)
    after = check_rows(run.kind, rows_of(table, table.latest_snapshot()), must=acknowledged, may=tried - failed)
    assert after == found, "compaction or cleaning changed the rows"
    cleaned = {path for path, *_ in run.journal("orphans").lines("found")}
    unknown = tried - acknowledged - failed
    return Figures(
        acknowledged=len(acknowledged),
        unknown=len(unknown),
        unknown_there=len(unknown & (found | run.kind.hidden(found))),
        failed=len(failed),
        snapshots=snapshots[-1].id,
        cleaned=len(cleaned),
        orphans=len(left),
        orphan_data_files=sum("/bucket-" in path for path in left | cleaned),
    )


def _check_snapshots(run: Run, table: Table) -> None:
    """Their numbers have no gap, and none commits what another has committed."""
    snapshots = list_snapshots(table.store)
    gaps = [(a.id, b.id) for a, b in pairwise(snapshots) if b.id != a.id + 1]
    assert not gaps, f"snapshots are missing between {gaps}"
    writes = Counter((s.commit_user, s.commit_identifier) for s in snapshots if s.commit_user.startswith("writer"))
    twice = [who for who, times in writes.items() if times > 1]
    assert not twice, f"committed twice: {twice}"


def _check_names(run: Run, table: Table) -> None:
    """Tags and branches that were made are there, but for those whose deletion began."""
    for role, there in (("tags", tag_names(table.store)), ("branches", branch_names(table.store))):
        journal = run.journal(role)
        made = {name for (name,) in journal.lines("made")} - {name for (name,) in journal.lines("deleting")}
        assert made <= set(there), f"{role} are lost: {made - set(there)}"


def _check_versions(run: Run, table: Table, tried: frozenset[Commit]) -> None:
    """Every snapshot and tag of every branch has its files, and rows that whole commits make."""
    missing = missing_paths(table.store.io, sorted(_needed(table)))
    assert not missing, f"{len(missing)} files are missing: {sorted(missing)[:5]}"
    for store in branch_stores(table.store):
        for snapshot in (*list_snapshots(store), *(t.snapshot for t in list_tags(store))):
            rows = rows_of(Table(store), snapshot)
            mine = frozenset(c for c in run.kind.commits_in(rows) if c.writer >= BRANCH_WRITER)
            assert store.branch or not mine, f"snapshot {snapshot.id} of the table has rows of a branch"
            check_rows(run.kind, rows, must=frozenset(), may=tried | mine)


def _needed(table: Table) -> set[str]:
    needed = NeededFiles()
    return {path for store in branch_stores(table.store) for path in needed.of(versions_of(store))}


def _unneeded(table: Table) -> set[str]:
    """Files of commits that no version names, and temporary ones."""
    root, io, found = table.store.root, table.store.io, set[str]()
    folders = [root]
    while folders:
        entries = [
            entry for listed in side_by_side(io, lambda folder: list(io.list(folder)), folders) for entry in listed
        ]
        folders = [entry.path for entry in entries if entry.is_dir]
        found |= {
            entry.path
            for entry in entries
            if not entry.is_dir and (is_temporary(entry.name) or _is_of_commits(root, entry.path))
        }
    return found - _needed(table)


def _is_of_commits(root: str, path: str) -> bool:
    folder, _, _ = path.removeprefix(f"{root}/").rpartition("/")
    return folder in _FOLDERS or folder.rpartition("/")[2].startswith("bucket-")
