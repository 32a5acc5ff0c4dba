"""The LSM map: each bucket's runs as lines over its key range, young runs on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paimon_core.inspect.lsm_map import BucketMap, KeySpan, LsmMap, Run
from paimon_sql.pictures.picture import Picture, bytes_text, count_text, cut
from paimon_sql.pictures.svg import AGES, WIDTH, label, rect

_LEFT, _RIGHT, _TOP = 96.0, WIDTH - 130.0, 66.0
_NARROWEST = 3.0  # a file with one key must be seen
_HEAD, _LINE, _THINNEST, _THICKEST = 40.0, 26.0, 8.0, 20.0


def draw_lsm(table: str, found: LsmMap) -> Picture:
    """Draw buckets of a table. The thickness of a span is its size, its colour its age; orange spans are compacted
    next.
    """
    hidden = found.bucket_count - len(found.buckets)
    more = f", and {count_text(hidden, 'bucket')} with fewer runs" if hidden else ""
    version = "no snapshot" if found.snapshot is None else f"snapshot {found.snapshot}"
    due = "Orange: the next compaction takes the file"
    if any(b.then is not None for b in found.buckets):
        due = "Orange: the compaction takes the file; below, the most that it leaves"
    summary = f"{version}: {count_text(len(found.buckets), 'bucket')}{more}. {due}"
    return Picture(
        f"LSM trees of {table}",
        summary,
        _drawing(found.buckets),
        ("partition", "bucket", "level", "first key", "last key", "files", "rows", "deleted", "size", "next"),
        tuple(
            (b.partition, b.bucket, run.level, *_values(span, is_after=b is not before))
            for before in found.buckets
            for b in _states(before)
            for run in b.runs
            for span in run.spans
        ),
        lambda width: _lines(found.buckets, width),
    )


def _states(b: BucketMap) -> tuple[BucketMap, ...]:
    """Return a bucket as it is, and after the compaction if the map shows one."""
    return (b,) if b.then is None else (b, b.then)


def _values(span: KeySpan, *, is_after: bool) -> tuple[object, ...]:
    due = "after" if is_after else "yes" if span.is_due else ""
    return span.first_key, span.last_key, span.files, span.rows, span.deleted, bytes_text(span.size), due


def _heading(b: BucketMap, *, is_after: bool = False) -> str:
    place = f"{b.partition}, bucket {b.bucket}" if b.partition else f"bucket {b.bucket}"
    place += " after the compaction, at most" if is_after else ""
    said = [
        f"{place}: {count_text(b.files, 'file')}, {count_text(b.rows, 'row')}, {bytes_text(b.size)}",
        f"a key is in up to {count_text(b.overlap, 'run')}",
    ]
    if b.deleted:
        said.append(f"{b.deleted:,} deleted")
    if b.due:
        said.append(f"next: {count_text(b.due, 'file')} to level {b.output_level}")
    return "; ".join(said)


def _run_text(run: Run) -> str:
    files, size = sum(s.files for s in run.spans), sum(s.size for s in run.spans)
    return f"{count_text(files, 'file')}, {bytes_text(size)}"


def _title(span: KeySpan) -> str:
    parts = [f"{span.first_key} to {span.last_key}", count_text(span.files, "file"), count_text(span.rows, "row")]
    return ", ".join([*parts, *([f"{span.deleted:,} deleted"] if span.deleted else []), bytes_text(span.size)])


# -- SVG --------------------------------------------------------------------------------------------------------------
def _drawing(buckets: Sequence[BucketMap]) -> tuple[float, tuple[str, ...]]:
    body, y = list[str](), _TOP
    for before in buckets:
        for b in _states(before):
            body += _drawn_bucket(b, y, is_after=b is not before)
            y += _HEAD + _LINE * (len(b.runs) + (b.hidden_runs > 0)) + 26
    return y, tuple(body)


def _drawn_bucket(b: BucketMap, top: float, *, is_after: bool) -> Iterator[str]:
    yield label(16, top + 14, _heading(b, is_after=is_after))
    largest = max((s.size for run in b.runs for s in run.spans), default=1) or 1
    y = top + _HEAD - 12
    for run in b.runs:
        middle = y + _LINE / 2
        yield label(16, middle + 4, f"level {run.level}", "note")
        for span in run.spans:
            height = _THINNEST + (_THICKEST - _THINNEST) * span.size / largest
            x, end = (_LEFT + (_RIGHT - _LEFT) * p for p in (span.start, span.end))
            colour = "due" if span.is_due else f"age-{min(AGES - 1, int(span.age * AGES))}"
            yield rect(x, middle - height / 2, max(end - x - 1, _NARROWEST), height, colour, _title(span))
        yield label(WIDTH - 16, middle + 4, _run_text(run), "note", "end")
        y += _LINE
    if b.hidden_runs:
        yield label(16, y + 16, f"and {count_text(b.hidden_runs, 'older run')}", "note")
        y += _LINE
    yield label(_LEFT, y + 12, cut(_first(b), 40), "note")
    yield label(_RIGHT, y + 12, cut(_last(b), 40), "note", "end")


def _first(b: BucketMap) -> str:
    return min((s for run in b.runs for s in run.spans), key=lambda s: s.start).first_key


def _last(b: BucketMap) -> str:
    return max((s for run in b.runs for s in run.spans), key=lambda s: s.end).last_key


# -- text -------------------------------------------------------------------------------------------------------------
def _lines(buckets: Sequence[BucketMap], width: int) -> Iterator[str]:
    for b, is_after in ((b, b is not before) for before in buckets for b in _states(before)):
        yield _heading(b, is_after=is_after)
        texts = [_run_text(run) for run in b.runs]
        names = [f"level {run.level}" for run in b.runs]
        right, left = max(map(len, texts)), max(map(len, names))
        room = max(10, width - left - right - 6)
        for run, name, text in zip(b.runs, names, texts, strict=True):
            yield f"{name.rjust(left)} │{_blocks(run, room)}│ {text}"
        if b.hidden_runs:
            yield f"and {count_text(b.hidden_runs, 'older run')}"
        first, last = (cut(t, room // 2 - 1) for t in (_first(b), _last(b)))
        yield " " * (left + 2) + first + last.rjust(room - len(first))
        yield ""


def _blocks(run: Run, room: int) -> str:
    """Return a run as characters: full blocks, or shaded blocks for files that the next compaction takes. A wide file
    ends with a half block.
    """
    cells = [" "] * room
    for span in run.spans:
        start, end = int(span.start * (room - 1)), max(int(span.end * (room - 1)) + 1, int(span.start * (room - 1)) + 1)
        cells[start:end] = ("▒" if span.is_due else "█") * (end - start)
        if end - start > 2 and end < room:
            cells[end - 1] = "▌"
    return "".join(cells)
