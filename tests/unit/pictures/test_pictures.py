"""Pictures: their SVG is parsed, their text has the width of the terminal, and no name acts as markup."""

from __future__ import annotations

import re
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise, product
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.inspect.layout import PartitionSize, PartitionSizes
from paimon_core.inspect.lsm_map import BucketMap, KeySpan, LsmMap, Run, lsm_map
from paimon_core.inspect.schema_history import SchemaStep
from paimon_core.inspect.timeline import Commit, Ref, Timeline
from paimon_core.system_tables.text import local_time
from paimon_sql.pictures.kinds import draw
from paimon_sql.pictures.lsm import draw_lsm
from paimon_sql.pictures.picture import NARROWEST, Choice, Picture, PictureKind, bar, bytes_text, count_text
from paimon_sql.pictures.show import ShownPicture, png_of
from paimon_sql.pictures.sizes import draw_partitions
from paimon_sql.pictures.svg import COLOURS, WIDTH, document, label, rect, style
from paimon_sql.pictures.versions import draw_refs, draw_schemas, draw_timeline
from paimon_sql.python.catalog import open_table
from tests.support.colour_blindness import SIGHTS, distance
from tests.support.contrast import contrast
from tests.unit.procedures.test_advice import Lake

HOSTILE = "</text><script>alert(1)</script>\x1b[31m\u202e$x$ ünï"
NOW = local_time(0, None)
SVG = "{http://www.w3.org/2000/svg}"


def span(key: str, **more: object) -> KeySpan:
    given = {"files": 1, "rows": 2, "deleted": 1, "size": 10, "age": 1.0, "is_due": False} | more
    return KeySpan(0.0, 1.0, key, key, **given)  # type: ignore[arg-type]


def bucket(partition: str, *runs: Run) -> BucketMap:
    totals = {"files": 1, "rows": 2, "deleted": 1, "size": 10, "overlap": 1, "due": 1, "output_level": 5}
    return BucketMap(partition=partition, bucket=0, runs=runs, hidden_runs=2, **totals)  # type: ignore[arg-type]


def commit(text: str) -> Commit:
    return Commit(
        id=1, time=NOW, kind=text, operation=text, user=text, engine=text, delta=-5, total=5, tags=(text, "b")
    )


DRAWN: dict[str, Callable[[str], Picture]] = {
    "lsm": lambda text: draw_lsm(text, LsmMap(1, (bucket(text, Run(0, (span(text),))),), 3)),
    "timeline": lambda text: draw_timeline(text, Timeline((commit(text),), 1, 2, ((text, 1),))),
    "branches": lambda text: draw_refs(text, [Ref("main", False, 1, 9, None), Ref(text, True, 3, 3, NOW)]),
    "schemas": lambda text: draw_schemas(text, [SchemaStep(0, NOW, ()), SchemaStep(1, NOW, (text,))]),
    "partitions": lambda text: draw_partitions(text, PartitionSizes((PartitionSize(text, 1, 2, 3, 4, 3, NOW),), 2, 9)),
}


class Tags(HTMLParser):
    """The names of all elements of a text in HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)


AGES = [f"age-{n}" for n in range(5)]
MEANINGS = ["plus", "minus", "other", "due"]  # of shapes in one picture


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("column", [0, 1], ids=["light", "dark"])
def test_everyone_can_tell_colours_apart(column: int, sight: str) -> None:
    """Shapes of other meanings look different, and files of other ages a little; without colours, `due` has an
    outline.
    """
    seen = {name: colours[column] for name, colours in COLOURS.items()}
    grey = sight == "no colours"
    known = [name for name in MEANINGS if not (grey and name == "due")]
    pairs = [*combinations(known, 2), *(() if grey else product(["due"], AGES))]
    near = {pair: distance(seen[pair[0]], seen[pair[1]], sight) for pair in pairs}
    assert min(near.values()) >= (8 if grey else 18), near
    ages = {pair: distance(seen[pair[0]], seen[pair[1]], sight) for pair in pairwise(AGES)}
    assert min(ages.values()) >= 8, ages
    on_page = {name: distance(seen[name], seen["page"], sight) for name in (*MEANINGS, *AGES)}
    assert min(on_page.values()) >= 18, on_page
    assert f".paimon .due{{stroke:{COLOURS['label'][column]}" in style()


@pytest.mark.parametrize("kind", DRAWN)
def test_names_are_texts_in_every_form(kind: str) -> None:
    drawn = DRAWN[kind](HOSTILE)
    root = ET.fromstring(drawn.svg())
    texts = "".join(e.text or "" for e in root.iter())
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        *("svg", "title", "desc", "style", "rect", "text", "line", "circle")
    }
    assert "</text><script>" in texts and "\\x1b[31m\\u202e" in texts
    allowed = {"figure", "svg", "title", "desc", "style", "rect", "text", "line", "circle", "details", "summary"}
    assert Tags(drawn.html()).found <= allowed | {"table", "thead", "tbody", "tr", "th", "td"}
    assert "$" not in drawn.html() and "\x1b" not in drawn.html() + drawn.text()
    assert all(len(line) <= 60 for line in drawn.text(60).splitlines())
    assert all(len(line) <= NARROWEST for line in drawn.text(1).splitlines())


@pytest.mark.parametrize("column", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read(column: int) -> None:
    """The contrast of texts is 4.5 or more, and of shapes 1.5 or more (the oldest files are pale, and have labels)."""

    page = COLOURS["page"][column]
    by_name = {name: contrast(colours[column], page) for name, colours in COLOURS.items()}
    assert by_name["label"] >= 4.5 and by_name["note"] >= 4.5
    assert all(found >= 1.5 for name, found in by_name.items() if name not in ("page", "grid"))


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("kind", list(PictureKind))
def test_a_terminal_shows_whole_lines(kind: PictureKind, width: int, tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "2"})
    for n in range(3):
        lake.insert(*range(n, n + 20))
    lines = draw(lake.table.store, kind).text(width).splitlines()
    assert max(map(len, lines)) <= width and not any("…" in line for line in lines[2:])
    if kind is PictureKind.LSM:
        assert max(map(len, lines)) > width - 12, "it is as wide as the terminal"


@pytest.mark.parametrize("retries", [None, 12])
@pytest.mark.parametrize("text", ["w" * 40, "\x9b\u202e" * 20, "a"], ids=["long", "escapes", "short"])
def test_labels_of_a_commit_do_not_overlap(text: str, retries: int | None) -> None:
    made = replace(commit(text), delta=-1_234_567_890, id=123_456, retries=retries, conflicts=retries or 0)
    labels = ET.fromstring(draw_timeline("t", Timeline((made,), 1, 0, ())).svg()).iter(f"{SVG}text")
    of_commit = [e for e in labels if float(e.get("y") or 0) > 60]
    widths = [6.5 * len(e.text or "") for e in of_commit]  # of a sans serif of 12 pixels
    starts = [
        float(e.get("x") or 0) - (w if e.get("text-anchor") == "end" else 0)
        for e, w in zip(of_commit, widths, strict=True)
    ]
    assert len(starts) == (6 if retries is None else 7)
    assert all(b >= a + w for a, w, b in zip(starts, widths, starts[1:], strict=False))


def test_a_file_with_one_key_is_seen() -> None:
    one = replace(span("k"), end=0.0)
    drawn = draw_lsm("t", LsmMap(1, (bucket("", Run(0, (one,))),), 1))
    rects = [e for e in ET.fromstring(drawn.svg()).iter(f"{SVG}rect") if e.get("class") != "page"]
    assert float(rects[0].get("width") or 0) >= 3


def test_the_lsm_map_has_a_span_for_each_file(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "1", "num-sorted-run.compaction-trigger": "9"})
    for n in range(4):
        lake.insert(n, n + 10)
    drawn = draw_lsm("t", lsm_map(lake.table.store))
    rects = [e for e in ET.fromstring(drawn.svg()).iter(f"{SVG}rect") if e.get("class") != "page"]
    titles = [r.findtext(f"{SVG}title") for r in rects]
    assert len(rects) == 4 and titles[0] == "[3] to [13], 1 file, 2 rows, " + drawn.rows[0][8]
    assert [row[:5] for row in drawn.rows] == [("", 0, 0, f"[{n}]", f"[{n + 10}]") for n in (3, 2, 1, 0)]
    lefts = [float(r.get("x") or 0) for r in rects]
    assert lefts == sorted(lefts, reverse=True)  # young files have larger keys, and are on top
    blocks = [line for line in drawn.text(80).splitlines() if "│" in line]
    assert [b.split("│")[1].index("█") for b in blocks] == sorted(
        (b.split("│")[1].index("█") for b in blocks), reverse=True
    )


def test_pictures_by_procedure(tmp_path: Path) -> None:
    keyed, append = Lake(tmp_path, {"primary-key": "k", "bucket": "1"}), Lake(tmp_path, table="a")
    for lake in (keyed, append):
        lake.insert(1, 2)
    assert [kind for kind, _ in keyed.call("picture", table="t")] == list(PictureKind)
    assert [kind for kind, _ in append.call("picture", table="a")] == list(PictureKind)[1:]
    ((kind, text),) = keyed.call("picture", table="default.t", kind="LSM", bucket=0, width=50)
    assert kind == "lsm" and text.startswith("LSM trees of default.t\n")
    assert max(map(len, text.splitlines())) <= 50
    ((_, svg),) = keyed.call("picture", table="t", kind="files", output="SVG")
    assert ET.fromstring(svg).get("role") == "img"
    with pytest.raises(InvalidOptionError, match="output cannot be 'png': use one of text, svg, html"):
        keyed.call("picture", table="t", output="png")
    with pytest.raises(InvalidOptionError, match="kind cannot be 'tree': use one of lsm, timeline"):
        keyed.call("picture", table="t", kind="tree")
    with pytest.raises(InvalidOptionError, match="leave out partition and bucket"):
        keyed.call("picture", table="t", kind="files", bucket=0)
    with pytest.raises(InvalidOptionError, match="width cannot be 3: use 40 to 10,000"):
        keyed.call("picture", table="t", width=3)
    with pytest.raises(InvalidOptionError, match="width cannot be 2147483647"):
        keyed.call("picture", table="t", width=2**31 - 1)
    with pytest.raises(UnsupportedFeatureError, match="no primary key"):
        append.call("picture", table="a", kind="lsm")


def test_pictures_in_python(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "1"})
    lake.insert(1, 2)
    shown = open_table(f"{tmp_path}/default.db/t").pictures
    bundle = shown.timeline()._repr_mimebundle_()
    assert bundle["text/plain"].startswith("Timeline of ") and bundle["text/html"].startswith("<figure>")
    assert repr(shown).count("\n\n") >= len(PictureKind) and shown._repr_html_().count("<svg") == len(PictureKind)
    shown.lsm(bucket=0).save(str(tmp_path / "t.svg"))
    shown.all().save(str(tmp_path / "t.html"))
    shown.files().save(str(tmp_path / "t.txt"))
    assert ET.parse(tmp_path / "t.svg").getroot().tag == f"{SVG}svg"
    page = (tmp_path / "t.html").read_text()
    assert (
        page.startswith("<!doctype html>")
        and "default-src 'none'" in page
        and not re.search("https?://(?!www.w3)", page)
    )
    assert (tmp_path / "t.txt").read_text() == repr(shown.files())
    with pytest.raises(InvalidOptionError, match=r"must end with \.svg, \.html, \.txt, \.png"):
        shown.files().save(str(tmp_path / "t.gif"))
    compacted, expired = shown.lsm(after="compact"), shown.timeline(after="expire_snapshots")
    assert "after the compaction, at most: 1 file, 2 rows" in repr(compacted) and "an expiry removes" in repr(expired)
    with pytest.raises(InvalidOptionError, match="cannot show the table after 'rollback'"):
        repr(shown.lsm(after="rollback"))
    with pytest.raises(InvalidOptionError, match="choose a kind"):
        shown.all().to_svg()


@pytest.fixture
def resvg() -> None:
    """Skip where PNGs cannot have texts."""
    pytest.importorskip("resvg_py", reason='needs pip install "paimon-sql[png]"')
    try:
        png_of(document("t", "d", 40, []))
    except UnsupportedFeatureError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("resvg")
def test_png(monkeypatch: pytest.MonkeyPatch) -> None:
    svg = document("t", "d", 40, [rect(0, 0, WIDTH, 40, "plus"), label(10, 20, "a text")])
    drawn = png_of(svg)
    width, height = struct.unpack(">II", drawn[16:24])
    assert drawn.startswith(b"\x89PNG\r\n") and (width, height) == (2 * WIDTH, 80)
    assert drawn != png_of(svg.replace("a text", "b text")), "it has texts"
    monkeypatch.setattr("paimon_sql.pictures.show._FONTS", "svg text{font-family:Nope !important}")
    with pytest.raises(UnsupportedFeatureError, match="A PNG needs a font, and this machine has none of"):
        png_of(svg)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UnsupportedFeatureError, match=r"PNG needs the package resvg_py.*paimon-sql.*\[png\]"):
        png_of(svg)


@pytest.mark.usefixtures("resvg")
def test_a_picture_is_saved_as_png(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "1"})
    lake.insert(1, 2)
    open_table(f"{tmp_path}/default.db/t").pictures.lsm().save(str(tmp_path / "t.png"))
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_shown_picture_is_drawn_when_it_is_shown() -> None:
    def fails(form: object) -> list[str]:
        raise UnsupportedFeatureError("drawn")

    shown = ShownPicture("t", fails)
    with pytest.raises(UnsupportedFeatureError, match="drawn"):
        repr(shown)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1024, "1.0 KB"), (1023 * 1024, "1.0 MB"), (150 * 2**30, "150 GB")]
)
def test_sizes(size: int, text: str) -> None:
    assert bytes_text(size) == text


def test_bars_and_counts() -> None:
    assert bar(0, 4) == "    " and bar(1e-9, 4) == "▏   " and bar(0.5, 4) == "██  " and bar(7, 4) == "████"
    assert count_text(1, "branch") == "1 branch" and count_text(1200, "branch") == "1,200 branches"


def test_before_and_after(tmp_path: Path) -> None:
    retained = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "1", **retained})
    for n in range(3):
        lake.insert(n)
    store = lake.table.store
    drawn = draw(store, "lsm", Choice(after="compact"))
    root = ET.fromstring(drawn.svg())
    said = [t.text or "" for t in root.iter(f"{SVG}text")]
    assert [t for t in said if t.startswith("bucket 0")] == [
        t for t in said if t.startswith(("bucket 0: 3 files", "bucket 0 after the compaction, at most: 1 file, 3 rows"))
    ]
    assert sum(r.get("class") == "due" for r in root.iter(f"{SVG}rect")) == 3
    assert [row[-1] for row in drawn.rows] == ["yes", "yes", "yes", "after"]
    assert drawn.text(100).count("after the compaction, at most: 1 file") == 1
    timeline = draw(store, "timeline", Choice(after="expire_snapshots"))
    assert "an expiry removes 2 snapshots (orange) and " in timeline.summary
    assert [row[-1] for row in timeline.rows] == ["yes", "yes", ""]
    classes = [r.get("class") for r in ET.fromstring(timeline.svg()).iter(f"{SVG}rect")]
    assert classes.count("due") == 2
    assert [line.endswith("expires") for line in timeline.text(100).splitlines()[3:]] == [False, True, True]
    assert len(lake.table.system_table("snapshots")) == 3, "nothing has expired"
    assert "expires" not in draw(store, "timeline").text(100)


@pytest.mark.parametrize(
    ("kind", "after"), [("files", "compact"), ("lsm", "expire_snapshots"), ("timeline", "compact")]
)
def test_pictures_that_show_no_such_operation(kind: str, after: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, {"primary-key": "k", "bucket": "1"})
    with pytest.raises(InvalidOptionError, match="Pictures show lsm: compact or minor compact; timeline: expire_snap"):
        draw(lake.table.store, kind, Choice(after=after))
    with pytest.raises(InvalidOptionError, match="after needs a kind"):
        lake.call("picture", table="t", after="compact")
