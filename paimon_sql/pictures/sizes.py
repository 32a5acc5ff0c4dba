"""Pictures of sizes: data files by size against the target, and partitions by size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paimon_core.inspect.layout import FileSizes, PartitionSize, PartitionSizes, SizeClass
from paimon_sql.pictures.picture import Picture, bar, bytes_text, count_text, cut
from paimon_sql.pictures.svg import WIDTH, label, rect
from paimon_sql.pictures.versions import time_text

_TOP, _LINE = 70.0, 24.0
_SKEWED = 2.0  # the largest bucket is at least twice as large as an average one


# -- files ------------------------------------------------------------------------------------------------------------
def draw_files(table: str, found: FileSizes) -> Picture:
    """Draw how many data files have which size."""
    summary = (
        f"{count_text(found.files, 'file')}, {count_text(found.rows, 'row')}, {bytes_text(found.size)};"
        f" a file ends at {bytes_text(found.target)}; {found.small:,} below {bytes_text(found.small_bound)}"
    )
    return Picture(
        f"Data files of {table}",
        summary,
        _drawn_classes(found),
        ("size below", "files", "bytes"),
        tuple((bytes_text(c.below), c.files, c.size) for c in found.classes),
        lambda width: _class_lines(found.classes, width),
    )


def _class_name(c: SizeClass) -> str:
    return f"below {bytes_text(c.below)}"


def _drawn_classes(found: FileSizes) -> tuple[float, tuple[str, ...]]:
    most = max((c.files for c in found.classes), default=0) or 1
    body, y = list[str](), _TOP
    for c in found.classes:
        colour = "minus" if c.below <= found.small_bound else "plus"
        body += [
            label(16, y + 12, _class_name(c), "note"),
            rect(150, y, (WIDTH - 400) * c.files / most, 16, colour, count_text(c.files, "file")),
            label(WIDTH - 16, y + 12, f"{count_text(c.files, 'file')}, {bytes_text(c.size)}", "note", "end"),
        ]
        y += _LINE
    return y + 10, tuple(body)


def _class_lines(classes: Sequence[SizeClass], width: int) -> Iterator[str]:
    most = max((c.files for c in classes), default=0) or 1
    for c in classes:
        text = f"{count_text(c.files, 'file')}, {bytes_text(c.size)}"
        yield f"{_class_name(c):>15} {bar(c.files / most, max(4, width - 45))} {text}"


# -- partitions -------------------------------------------------------------------------------------------------------
def draw_partitions(table: str, found: PartitionSizes) -> Picture:
    """Draw the largest partitions. Orange: the largest bucket is twice as large as an average one, or larger."""
    hidden = found.count - len(found.partitions)
    more = f"; {hidden:,} smaller ones are not shown" if hidden else ""
    return Picture(
        f"Partitions of {table}",
        f"{count_text(found.count, 'partition')}, {bytes_text(found.size)}{more}",
        _drawn_partitions(found.partitions),
        ("partition", "files", "rows", "size", "buckets", "largest bucket", "skew", "last change"),
        tuple(
            (
                *(_partition_name(p), p.files, p.rows, bytes_text(p.size), p.buckets, bytes_text(p.largest_bucket)),
                *(f"{p.skew:.1f}", time_text(p.changed)),
            )
            for p in found.partitions
        ),
        lambda width: _partition_lines(found.partitions, width),
    )


def _partition_name(p: PartitionSize) -> str:
    return p.name or "(not partitioned)"


def _partition_text(p: PartitionSize) -> str:
    skew = f", skew {p.skew:.1f}" if p.skew >= _SKEWED else ""
    return f"{bytes_text(p.size)}, {count_text(p.files, 'file')}{skew}"


def _drawn_partitions(found: Sequence[PartitionSize]) -> tuple[float, tuple[str, ...]]:
    most = max((p.size for p in found), default=0) or 1
    body, y = list[str](), _TOP
    for p in found:
        colour = "due" if p.skew >= _SKEWED else "plus"
        body += [
            label(16, y + 12, cut(_partition_name(p), 34)),
            rect(250, y, (WIDTH - 600) * p.size / most, 16, colour, f"{count_text(p.buckets, 'bucket')}"),
            label(WIDTH - 160, y + 12, _partition_text(p), "note", "end"),
            label(WIDTH - 16, y + 12, time_text(p.changed), "note", "end"),
        ]
        y += _LINE
    return y + 10, tuple(body)


def _partition_lines(found: Sequence[PartitionSize], width: int) -> Iterator[str]:
    most = max((p.size for p in found), default=0) or 1
    left = min(30, max((len(_partition_name(p)) for p in found), default=1))
    texts = [f"{_partition_text(p)}, {time_text(p.changed)}" for p in found]
    right = max(map(len, texts), default=0)
    for p, text in zip(found, texts, strict=True):
        room = max(4, width - left - right - 3)
        yield f"{cut(_partition_name(p), left):<{left}} {bar(p.size / most, room)} {text}"
