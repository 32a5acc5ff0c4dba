"""The pages of a table. All but the sample of rows read metadata only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from paimon_core.errors import InvalidNameError, NotFoundError, UnsupportedFeatureError
from paimon_core.inspect.layout import FileOrder, listed_files, table_summary
from paimon_core.inspect.lsm_map import has_lsm_trees, lsm_map
from paimon_core.inspect.schema_history import schema_history
from paimon_core.inspect.timeline import MOST_COMMITS, Commit, timeline
from paimon_core.maintenance.advice import advise, figures_of
from paimon_core.maintenance.running import running_work
from paimon_core.options import BUCKET, MERGE_ENGINE
from paimon_core.options.option import Option, default_text
from paimon_core.options.support import OPTIONS
from paimon_core.progress import PhaseProgress, duration, rate_text
from paimon_core.secrets import redacted, without_secrets
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.types import holds_blobs
from paimon_core.store.features import check_seen_whole
from paimon_core.store.named_files import files_of
from paimon_core.system_tables.text import local_time
from paimon_sql.pictures.kinds import OPERATIONS, draw, kinds_of
from paimon_sql.pictures.picture import Choice, PictureKind, bytes_text, count_text
from paimon_sql.pictures.versions import time_text
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from paimon_sql.server.ui.catalog_pages import PageCall, rows_table, tree_of
from paimon_sql.server.ui.frame import TABS, Page, note, tabs
from paimon_sql.server.ui.markup import Html, drawn, facts, html, link, pages, table, tag
from paimon_sql.server.ui.queries import MOST_COLUMNS

MOST_FILES, MOST_ROWS = 200, 50  # on a page
_DOCS = "https://paimon.apache.org/docs/master/maintenance/configurations/"
Tab = Callable[[PaimonTable, PageCall], Html]


def table_page(catalog: PaimonCatalog, call: PageCall) -> Page:
    """Show a table: the third name in the address is the kind of page. Raises the errors of `PaimonCatalog.table`."""
    database, name, *rest = call.names
    current = rest[0] if rest else TABS[0]
    if current not in _TABS:
        raise NotFoundError(f"A table has no page {current!r}; it has {', '.join(TABS)}.")
    identifier = Identifier.of(database, name)
    if identifier.system_table is not None:
        raise InvalidNameError(f"{str(identifier)!r} is a system table: query it in SQL, or open the table itself.")
    found = PaimonTable.load(catalog.inner, identifier, catalog.zone)
    with files_of(found.inner.store):
        content = _TABS[current](found, call)
    tree = tree_of(catalog, database, identifier.table)
    return Page(f"{database}.{name}", tree, html(tabs(database, name, current), content))


def _summary(found: PaimonTable, _: PageCall) -> Html:
    check_seen_whole(found.inner.store)
    store, summary = found.inner.store, table_summary(found.inner.store)
    latest = summary.snapshot
    keys, partitions = ", ".join(found.primary_key), ", ".join(found.partitioned_by)
    said: list[tuple[str, object]] = [
        ("comment", found.comment),
        ("location", without_secrets(found.location)),
        ("primary key", keys or "none: rows are appended"),
        ("merge engine", store.options[MERGE_ENGINE] if keys else None),
        ("partitioned by", partitions or "not partitioned"),
        ("bucket", store.options.values.get(BUCKET.key, str(BUCKET.default))),
        ("latest snapshot", "none: nothing was written yet" if latest is None else str(latest.id)),
        ("of", None if latest is None else time_text(local_time(latest.time_millis, store.zone))),
        ("made by", None if latest is None else _by(latest)),
        ("rows in files", summary.rows),
        ("data files", summary.files),
        ("size of the files", bytes_text(summary.size)),
        ("partitions", summary.partitions),
        ("buckets", summary.buckets),
    ]
    return html(
        facts((name, value) for name, value in said if value is not None),
        note("Rows in files are counted before merging. All figures come from the latest snapshot."),
    )


def _by(snapshot: Any) -> str:
    writer = snapshot.writer_version or "an engine without a name"
    return f"{snapshot.operation or snapshot.commit_kind or 'commit'} by {snapshot.commit_user}, {writer}"


def _schema(found: PaimonTable, _: PageCall) -> Html:
    schema = found.inner.schema
    rows = [
        (
            f.id,
            f.name,
            f.type.sql() + ("" if f.type.nullable else " NOT NULL"),
            ", ".join(
                w for w, k in (("primary", found.primary_key), ("partition", found.partitioned_by)) if f.name in k
            ),
            f.default,
            f.description,
        )
        for f in schema.fields
    ]
    steps = [
        (s.id, time_text(s.time), change)
        for s in reversed(schema_history(found.inner.store))
        for change in s.changes or ("the first schema",)
    ]
    return html(
        table("Columns", ("id", "column", "type", "key", "default", "comment"), rows, (0,)),
        tag("h2", "History"),
        table("Changes, the newest first", ("schema", "time", "change"), steps, (0,)),
    )


def _snapshots(found: PaimonTable, call: PageCall) -> Html:
    seen = timeline(found.inner.store, call.start)
    rows = [_commit(c) for c in reversed(seen.commits)]
    kept = [f"{name} (snapshot {number})" for name, number in seen.kept]
    return html(
        pages(call.start, MOST_COMMITS, seen.count, _place(found, "snapshots")),
        table("Snapshots, the newest first", _COMMIT, rows, _NUMBERS_OF_COMMIT),
        note(f"{seen.expired:,} older snapshots expired.") if seen.expired else None,
        note(f"Tags of other snapshots: {', '.join(kept)}") if kept else None,
    )


_COMMIT = (
    *("snapshot", "time", "kind", "operation", "change of rows", "rows in files"),
    *("user", "engine", "tags", "retries"),
)
_NUMBERS_OF_COMMIT = (0, 4, 5, 9)


def _commit(c: Commit) -> tuple[object, ...]:
    change, retries = f"{c.delta:+,}", "" if c.retries is None else c.retries
    return c.id, time_text(c.time), c.kind, c.operation, change, c.total, c.user, c.engine, ", ".join(c.tags), retries


def _files(found: PaimonTable, call: PageCall) -> Html:
    check_seen_whole(found.inner.store)
    text = call.text("order", FileOrder.LARGEST)
    order = FileOrder(text) if text in list(FileOrder) else FileOrder.LARGEST
    listed = listed_files(found.inner.store, order, call.start, MOST_FILES)
    columns = ("file", "partition", "bucket", "level", "rows", "size", "created")
    rows = [
        (f.name, f.partition, f.bucket, f.level, f.rows, bytes_text(f.size), time_text(f.created)) for f in listed.files
    ]
    place = _place(found, "files")
    orders = [tag("li", link(o.value, *place, current=o is order, order=o.value)) for o in FileOrder]
    return html(
        tag("nav", tag("ul", orders), class_="tabs", aria_label="Order of the files"),
        pages(call.start, MOST_FILES, listed.count, place, order=order.value),
        table(f"Data files of the latest snapshot, {order.value} first", columns, rows, (2, 3, 4, 5)),
    )


def _pictures(found: PaimonTable, call: PageCall) -> Html:
    kinds, place = kinds_of(found.inner.store), _place(found, "pictures")
    wanted = call.text("kind")
    kind = next((k for k in kinds if k == wanted), kinds[0])
    after = call.text("after") or None
    part = Choice(call.text("partition") or None, call.number("bucket"), after)
    links = [tag("li", link(k.value, *place, current=k is kind, kind=k.value)) for k in kinds]
    picture = draw(found.inner.store, kind, part if kind is PictureKind.LSM else Choice(after=after))
    return html(
        tag("nav", tag("ul", links), class_="tabs", aria_label="Kinds of pictures"),
        _operations(call, place, kind, after) if kind in OPERATIONS else None,
        _choice(call) if kind is PictureKind.LSM else None,
        tag("div", drawn(picture.html(styled=False)), role="region", aria_label=picture.title, tabindex="0"),
    )


def _operations(call: PageCall, place: Sequence[str], kind: PictureKind, after: str | None) -> Html:
    """Return links to the picture as it is now, and with the effect of each operation."""
    part = {name: call.text(name) or None for name in ("partition", "bucket")}
    texts: dict[str | None, str] = {None: "now"}
    texts |= {name: f"after {name.replace('_', ' ')}" for name in OPERATIONS[kind]}
    links = [
        tag("li", link(text, *place, current=name == after, kind=kind.value, after=name, **part))
        for name, text in texts.items()
    ]
    return tag("nav", tag("ul", links), class_="tabs", aria_label="Before and after")


def _choice(call: PageCall) -> Html:
    def field(name: str, hint: str) -> Html:
        value = tag("input", id=name, name=name, value=call.text(name), maxlength="300", placeholder=hint)
        return tag("div", tag("label", name, for_=name), value)

    return tag(
        "form",
        tag("input", type="hidden", name="kind", value="lsm"),
        tag("input", type="hidden", name="after", value=call.text("after")) if call.text("after") else None,
        field("partition", "day=2024-01-01"),
        field("bucket", "0"),
        tag("button", "Show"),
        method="get",
        class_="inline",
    )


def _options(found: PaimonTable, call: PageCall) -> Html:
    own = redacted(dict(found.inner.schema.options))
    others = [] if not call.text("all") else [o for o in OPTIONS.values() if o.key_in(own) is None]
    known = {key: o for o in OPTIONS.values() for key in (o.key, *o.aliases)}
    rows: list[tuple[object, ...]] = [
        (_documented(key, known), tag("span", value, class_="set"), _default(known.get(key)), _doc(known.get(key)))
        for key, value in sorted(own.items())
    ]
    rows += [(_documented(o.key, known), "", _default(o), _doc(o)) for o in others]
    place = _place(found, "options")
    more = link("Only the options that are set", *place) if others else link("All options", *place, all="1")
    return html(
        tag("p", more),
        table("Options that are set are marked; secrets are hidden", ("option", "set to", "default", "meaning"), rows),
    )


def _documented(key: str, known: Mapping[str, Option[Any]]) -> object:
    """Return the name of an option, as a link to the documentation of Paimon's options."""
    if key not in known:
        return key
    return tag("a", key, href=f"{_DOCS}#:~:text={quote(key, safe='')}", rel="noreferrer noopener external")


def _default(option: Option[Any] | None) -> str:
    return "" if option is None else default_text(option)


def _doc(option: Option[Any] | None) -> str:
    if option is None:
        return "This is not an option of Paimon."
    return option.doc if option.supported else "It has an effect in other engines only."


def _rows(found: PaimonTable, _: PageCall) -> Html:
    fields = [f for f in found.inner.schema.fields if not holds_blobs(f.type)]
    shown = [f.name for f in fields[:MOST_COLUMNS]]
    if not shown:
        raise UnsupportedFeatureError(f"{found.name} has only BLOB columns, and the page shows none of them.")
    rows = found.scan(shown, limit=MOST_ROWS).to_arrow()
    left = len(found.inner.schema.fields) - len(shown)
    return html(
        rows_table(f"{count_text(rows.num_rows, 'row')}, in no order", rows, found.inner.store.zone),
        note(f"{left} columns are not shown: BLOBs, and columns after the first {MOST_COLUMNS}.") if left else None,
    )


def _compactions(found: PaimonTable, _: PageCall) -> Html:
    store = found.inner.store
    check_seen_whole(store)
    done = [_commit(c) for c in reversed(timeline(store).commits) if c.kind == CommitKind.COMPACT]
    return html(
        _running(found),
        _due(found) if has_lsm_trees(store) else None,
        tag("h2", "Past compactions"),
        table(f"Among the newest {MOST_COMMITS} snapshots", _COMMIT, done, _NUMBERS_OF_COMMIT),
    )


def _running(found: PaimonTable) -> Html:
    zone = found.inner.store.zone
    rows = [
        (
            *(w.work, time_text(local_time(w.began, zone)), duration(max(0, w.seen - w.began) / 1000), w.host),
            *_progress(w.job),
        )
        for w in running_work(found.inner.store)
    ]
    return html(
        tag("h2", "Running now"),
        table("Writes, compactions and other upkeep", _RUNNING, rows) if rows else None,
        note("Work appears after five seconds, and its progress is updated every 15 seconds.")
        if rows
        else note("No statement writes, and no upkeep runs."),
    )


_RUNNING = ("work", "began", "seen running for", "host", "job", "done", "time left")


def _progress(job: PhaseProgress | None) -> tuple[object, ...]:
    """Return three texts: the work, the part that is done with its rate, and the time left."""
    if job is None:
        return "", "", ""
    done = f"{job.done:,} of {job.count:,} {job.unit}" if job.count else f"{job.done:,} {job.unit}"
    rate = "" if job.rate is None else f", {rate_text(job.rate)}"
    left = "" if job.seconds_left is None else f"about {duration(job.seconds_left)}"
    return job.description, f"{done}{rate}", left


def _due(found: PaimonTable) -> Html:
    due = [b for b in lsm_map(found.inner.store).buckets if b.due]
    rows = [(b.partition, b.bucket, b.due, b.files, bytes_text(b.size), b.overlap, b.output_level) for b in due]
    columns = ("partition", "bucket", "files to take", "files", "size", "runs of a key", "new level")
    return html(
        tag("h2", "Next compactions"),
        table("Buckets that the next compaction takes, among the buckets with most runs", columns, rows, range(1, 7)),
    )


def _advice(found: PaimonTable, _: PageCall) -> Html:
    store = found.inner.store
    check_seen_whole(store)
    given = advise(figures_of(store))
    if not given:
        return note("No rule has advice for this table.")
    return html(
        [
            tag(
                "section",
                tag("p", tag("strong", a.fact)),
                tag("p", f"Why it matters: {a.reason}."),
                tag("pre", tag("code", a.for_table("paimon", found.identifier))),
                class_="advice",
            )
            for a in given
        ]
    )


def _place(found: PaimonTable, page: str) -> tuple[str, ...]:
    return "t", found.identifier.database, found.identifier.name, page


_TABS: Mapping[str, Tab] = {
    "summary": _summary,
    "schema": _schema,
    "snapshots": _snapshots,
    "files": _files,
    "pictures": _pictures,
    "options": _options,
    "rows": _rows,
    "compactions": _compactions,
    "advice": _advice,
}
