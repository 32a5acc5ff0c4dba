"""Pictures of versions: the timeline of commits, the branches and tags, and the history of the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from paimon_core.inspect.schema_history import SchemaStep
from paimon_core.inspect.timeline import Commit, Ref, Timeline
from paimon_sql.pictures.picture import Picture, bar, bytes_text, count_text, cut
from paimon_sql.pictures.svg import WIDTH, dot, label, line, rect

_TOP, _LINE = 70.0, 20.0
_LEFT, _RIGHT = 264.0, 540.0  # of the bars
_TROUBLE = 76.0  # width of retries and conflicts
_MAIN = "main"


def time_text(moment: datetime | None) -> str:
    """Return a moment in seconds, "" for None."""
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


# -- timeline ---------------------------------------------------------------------------------------------------------
def draw_timeline(table: str, found: Timeline) -> Picture:
    """Draw commits, the newest on top: rows added to the right, rows removed to the left, and tags."""
    said = [count_text(len(found.commits), "commit")]
    said += [f"{found.hidden:,} older ones exist"] if found.hidden else []
    said += [f"{found.expired:,} older ones expired"] if found.expired else []
    said += [f"tags of older ones: {', '.join(f'{n} ({i})' for n, i in found.kept)}"] if found.kept else []
    retried, conflicts = sum(bool(c.retries) for c in found.commits), sum(c.conflicts for c in found.commits)
    said += [f"{count_text(retried, 'commit')} tried again"] if retried else []
    said += [f"{count_text(conflicts, 'commit')} of this process failed by a conflict"] if conflicts else []
    ending = frozenset[int]() if found.expiry is None else found.expiry.snapshots
    if found.expiry is not None:
        freed = f"{count_text(found.expiry.files, 'file')} of {bytes_text(found.expiry.size)}"
        said.append(f"an expiry removes {count_text(len(ending), 'snapshot')} (orange) and {freed}")
    return Picture(
        f"Timeline of {table}",
        "; ".join(said),
        _drawn_commits(found.commits[::-1], ending),
        (
            "snapshot",
            "time",
            "kind",
            "operation",
            "change of rows",
            "rows in files",
            "user",
            "engine",
            "tags",
            "retries",
            "conflicts",
            "expires",
        ),
        tuple(
            (
                *(c.id, time_text(c.time), c.kind, c.operation, c.delta, c.total, c.user, c.engine, ", ".join(c.tags)),
                *("" if c.retries is None else c.retries, c.conflicts or "", "yes" if c.id in ending else ""),
            )
            for c in found.commits
        ),
        lambda width: _commit_lines(found.commits[::-1], width, ending),
    )


def _work(c: Commit) -> str:
    return c.operation or c.kind


def _drawn_commits(commits: Sequence[Commit], ending: frozenset[int]) -> tuple[float, tuple[str, ...]]:
    most = max((abs(c.delta) for c in commits), default=0) or 1
    right = _RIGHT - (_TROUBLE if any(c.trouble for c in commits) else 0)
    middle = (_LEFT + right) / 2
    body, y = [line(middle, _TOP - 10, middle, _TOP + _LINE * len(commits))], _TOP
    for c in commits:
        length = (right - middle) * abs(c.delta) / most
        colour = "other" if c.kind == "COMPACT" else "plus" if c.delta >= 0 else "minus"
        colour = "due" if c.id in ending else colour
        title = f"{c.delta:+,} rows by {c.user}, {c.engine or 'an engine without a name'}"
        title += f"; {c.trouble}" if c.trouble else ""
        body += [
            label(16, y + 10, f"{c.id}", "note"),
            label(60, y + 10, time_text(c.time), "note"),
            label(196, y + 10, cut(_work(c).lower(), 10)),
            rect(middle if c.delta >= 0 else middle - length, y, length, 13, colour, title),
            label(right + 10, y + 10, f"{c.delta:+,}", "note"),
            *([label(WIDTH - 210 - _TROUBLE, y + 10, cut(c.trouble, 11), "note")] if c.trouble else []),
            label(WIDTH - 210, y + 10, cut(c.engine, 11), "note"),
            label(WIDTH - 16, y + 10, cut(", ".join(c.tags), 16), "label", "end"),
        ]
        y += _LINE
    return y + 10, tuple(body)


def _commit_lines(commits: Sequence[Commit], width: int, ending: frozenset[int]) -> Iterator[str]:
    most = max((abs(c.delta) for c in commits), default=0) or 1
    number = max((len(str(c.id)) for c in commits), default=1)
    for c in commits:
        head = f"{c.id:>{number}} {time_text(c.time)} {cut(_work(c).lower(), 10):<10} {c.delta:>+12,} "
        room = max(4, min(30, width - len(head) - 14))
        notes = [*(f"[{t}]" for t in c.tags), *filter(None, (c.trouble, "expires" if c.id in ending else ""))]
        yield f"{head}{bar(abs(c.delta) / most, room)} {' '.join(notes)}"


# -- branches and tags ------------------------------------------------------------------------------------------------
def draw_refs(table: str, found: Sequence[Ref]) -> Picture:
    """Draw branches as lines over the numbers of snapshots, and tags as dots on the main branch."""
    branches, tags = [r for r in found if not r.is_tag], [r for r in found if r.is_tag]
    return Picture(
        f"Branches and tags of {table}",
        f"{count_text(len(branches), 'branch')}, {count_text(len(tags), 'tag')}, over the numbers of snapshots",
        _drawn_refs(found),
        ("name", "kind", "first snapshot", "last snapshot", "time"),
        tuple((r.name, "tag" if r.is_tag else "branch", r.first, r.last, time_text(r.time)) for r in found),
        lambda width: _ref_lines(found, width),
    )


def _span(found: Sequence[Ref]) -> tuple[int, int]:
    numbers = [n for r in found for n in (r.first, r.last) if n is not None]
    return (min(numbers), max(max(numbers), min(numbers) + 1)) if numbers else (0, 1)


def _drawn_refs(found: Sequence[Ref]) -> tuple[float, tuple[str, ...]]:
    low, high = _span(found)
    body, y, left = list[str](), _TOP, 220.0
    scale = (WIDTH - left - 120) / (high - low)
    for r in found:
        body.append(label(16, y + 10, cut(r.name, 30), "note" if r.is_tag else "label"))
        if r.first is not None and r.last is not None:
            x, end = (left + (n - low) * scale for n in (r.first, r.last))
            title = f"{r.name}: snapshot {r.first}" + ("" if r.first == r.last else f" to {r.last}")
            colour = "plus" if r.name == _MAIN else "due"
            drawn = dot(x, y + 6, "minus", title) if r.is_tag else rect(x, y + 2, max(end - x, 6), 8, colour, title)
            body += [drawn, label(max(end, x) + 12, y + 10, f"{r.last}", "note")]
        y += _LINE
    return y + 10, tuple(body)


def _ref_lines(found: Sequence[Ref], width: int) -> Iterator[str]:
    low, high = _span(found)
    left = min(30, max((len(r.name) for r in found), default=4))
    room = max(10, width - left - 30)
    for r in found:
        drawn = [" "] * room
        if r.first is not None and r.last is not None:
            start, end = (round((n - low) / (high - low) * (room - 1)) for n in (r.first, r.last))
            drawn[start : end + 1] = ("◆" if r.is_tag else "━") * (end + 1 - start)
        numbers = "no snapshot" if r.first is None else str(r.first) if r.first == r.last else f"{r.first} to {r.last}"
        yield f"{cut(r.name, left):<{left}} {''.join(drawn)} {numbers}"


# -- schemas ----------------------------------------------------------------------------------------------------------
def draw_schemas(table: str, found: Sequence[SchemaStep]) -> Picture:
    """Draw the schemas as a list of changes, the newest on top."""
    newest = tuple(reversed(found))
    rows = tuple((s.id, time_text(s.time), change) for s in newest for change in s.changes or ("the first schema",))
    return Picture(
        f"Schemas of {table}",
        count_text(len(found), "schema"),
        _drawn_changes(rows),
        ("schema", "time", "change"),
        rows,
        lambda width: _change_lines(rows, width),
    )


def _drawn_changes(rows: Sequence[tuple[int, str, str]]) -> tuple[float, tuple[str, ...]]:
    body, y, before = list[str](), _TOP, None
    for number, time, change in rows:
        if number != before:
            body += [line(16, y - 5, WIDTH - 16, y - 5), label(16, y + 10, number), label(60, y + 10, time, "note")]
        body.append(label(200, y + 10, cut(change, 100)))
        y, before = y + _LINE, number
    return y + 10, tuple(body)


def _change_lines(rows: Sequence[tuple[int, str, str]], width: int) -> Iterator[str]:
    before = None
    for number, time, change in rows:
        head = f"{number:>4} {time} " if number != before else " " * 25
        yield cut(f"{head}{change}", width)
        before = number
