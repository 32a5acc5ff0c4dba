"""Small honest files of every kind, in tables that Apache Paimon's Java connector or we have written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paimon_core.expressions.predicate import And, Compare, HasAny, In, IsNull, Not, Predicate, StartsWith
from paimon_core.indexes.full_text import FULL_TEXT
from paimon_core.indexes.global_index.reader import MULTIVALUE
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import data_manifests
from tests.fuzz.files import reads
from tests.fuzz.files.reads import Read
from tests.fuzz.files.tables import BLOBS, FLAT, NESTED, filled, indexed, repeatable, searchable, text_table
from tests.support.golden import GOLDEN_DATABASE
from tests.support.iceberg import evolved_table

_QUESTIONS: tuple[Predicate, ...] = (
    Compare("v", "=", "value 5"),
    And((Compare("n", ">", 10), Compare("n", "<=", 30_000))),
    In("n", (993, 4993, -7)),
    IsNull("v"),
    StartsWith("v", "value 1"),
    Not(Compare("n", "=", 993)),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A file of a table, and what reads it."""

    kind: str
    path: Path
    root: Path
    read: Read
    content: bytes

    @property
    def name(self) -> str:
        return f"{self.root.name}/{self.path.relative_to(self.root)}"


def make_corpus(folder: Path, kinds: Sequence[str] | None = None) -> tuple[Case, ...]:
    """The files of tables below a folder: of `BLOB_KINDS`, of `SEARCH_KINDS`, or of all other kinds."""
    sources = {BLOB_KINDS: _blob_sources, SEARCH_KINDS: _search_sources}.get(tuple(kinds or ()), _sources)
    with repeatable():
        found = [
            Case(kind, path, root, read, path.read_bytes())
            for kind, root, patterns, read in sources(folder)
            for pattern in ([patterns] if isinstance(patterns, str) else patterns)
            for path in sorted(root.glob(pattern))
        ]
    return tuple(found)


Source = tuple[str, Path, str | Sequence[str], Read]  # kind, table, what its files are called, and what reads them


def _sources(folder: Path) -> Iterator[Source]:
    yield from _golden_metadata(folder)
    yield from _golden_files(folder)
    yield from _golden_indexes(folder)
    yield from _our_metadata(folder)
    yield from _our_files(folder)
    yield from _our_indexes(folder)
    evolved_table(folder / "foreign.db" / "iceberg")
    yield "iceberg", folder / "foreign.db" / "iceberg", ("metadata/v2*", "metadata/*.avro"), reads.iceberg


def _golden(folder: Path, name: str) -> Path:
    target = folder / "golden.db" / name
    if not target.exists():
        shutil.copytree(GOLDEN_DATABASE / name, target)
    return target


def _golden_metadata(folder: Path) -> Iterator[Source]:
    for name in ("types_append_avro", "se_nested_parquet", "names", "agg_numbers"):
        yield "schema", _golden(folder, name), "schema/schema-*", reads.defined
    for name in ("dv_append", "statistics", "tags"):
        yield "snapshot", _golden(folder, name), "snapshot/snapshot-*", reads.versions
    tables = _golden(folder, "tags"), _golden(folder, "branch_fallback"), _golden(folder, "consumers")
    yield "hint", tables[0], ("snapshot/LATEST", "snapshot/EARLIEST"), reads.hints
    yield "tag", tables[0], "tag/tag-*", reads.tags
    yield "branch", tables[1], ("branch/*/schema/*", "branch/*/snapshot/s*"), reads.branch("other")
    yield "consumer", tables[2], "consumer/*", reads.consumers
    root = _golden(folder, "statistics")
    yield "statistics", root, f"statistics/{_latest(root).statistics}", reads.statistics
    for name in ("manifest_parquet", "manifest_snappy", "part_pk", "types_pk_parquet", "stats_by_field"):
        yield from _manifests(_golden(folder, name))
    for name in ("dv_append", "dv_pk_large", "bucket_dynamic_partitioned"):
        root = _golden(folder, name)
        yield "index manifest", root, f"manifest/{_latest(root).index_manifest}", reads.planned("table_indexes")


def _manifests(root: Path) -> Iterator[Source]:
    """The manifests and manifest lists of the latest snapshot."""
    snapshot = _latest(root)
    names = [m.file_name for m in data_manifests(reads.known(root).store, snapshot)]
    yield "manifest", root, [f"manifest/{n}" for n in names], reads.planned("files", "partitions")
    lists = snapshot.base_manifest_list, snapshot.delta_manifest_list
    yield "manifest list", root, [f"manifest/{n}" for n in lists], reads.planned("manifests")


def _latest(root: Path) -> Snapshot:
    found = reads.known(root).latest_snapshot()
    assert found is not None
    return found


def _golden_files(folder: Path) -> Iterator[Source]:
    for name in ("types_pk_parquet", "types_variant", "variant_shredded", "se_nested_parquet", "dv_pk_large"):
        yield "parquet", _golden(folder, name), "**/data-*.parquet", reads.data
    for name in ("types_pk_orc", "codec_orc", "se_nested_orc"):
        yield "orc", _golden(folder, name), "**/data-*.orc", reads.data
    for name in ("types_append_avro", "types_pk_avro", "codec_avro", "se_nested_avro"):
        yield "avro", _golden(folder, name), "**/data-*.avro", reads.data
    yield "parquet", _golden(folder, "cl_input"), "**/changelog-*.parquet", reads.changes(0, 3)
    yield "blob", _golden(folder, "blob"), "**/*.blob", reads.data


def _golden_indexes(folder: Path) -> Iterator[Source]:
    for name in ("dv_append", "dv_pk", "dv_pk_large", "dv_append_partitioned"):
        root = _golden(folder, name)
        live = {d.path for s in reads.planned_splits(root) for d in s.deletions}
        yield "deletion vector", root, [str(Path(path).relative_to(root)) for path in sorted(live)], reads.data
    yield "hash index", _golden(folder, "bucket_dynamic_partitioned"), "index/index-*", reads.hash_index


def _our_metadata(folder: Path) -> Iterator[Source]:
    for codec in ("none", "deflate", "snappy", "zstd"):
        yield from _manifests(filled(folder, f"manifest_{codec}", FLAT, manifest__compression=codec))
    for name in ("parquet", "orc"):
        yield from _manifests(filled(folder, f"manifest_{name}", FLAT, manifest__format=name))


def _our_files(folder: Path) -> Iterator[Source]:
    parquet = {
        "plain": {"file__compression": "none", "parquet__enable__dictionary": "false"},
        "snappy": {"file__compression": "snappy", "parquet__writer__version": "v2"},
        "gzip": {"file__compression": "gzip"},
        "lz4": {"file__compression": "lz4"},
        "brotli": {"file__compression": "brotli"},
        "zstd": {"primary_key": "k", "bucket": "1"},
    }
    orc = {c: {"file__compression": c} for c in ("none", "zlib", "snappy", "lz4", "zstd")}
    avro = {c: {"file__compression": c} for c in ("none", "deflate", "snappy", "zstd", "bzip2", "xz")}
    for kind, made in (("parquet", parquet), ("orc", orc), ("avro", avro)):
        for name, options in made.items():
            root = filled(folder, f"{kind}_{name}", NESTED, file__format=kind, **options)
            yield kind, root, f"**/data-*.{kind}", reads.data
    for codec in ("none", "gzip", "bzip2", "zstd"):
        for kind in ("csv", "json"):
            root = filled(folder, f"{kind}_{codec}", FLAT, file__format=kind, file__compression=codec)
            yield "text", root, f"**/data-*.{kind}*", reads.data
        yield "text", text_table(folder, f"text_{codec}", codec), "*.text*", reads.format_table
    root = filled(folder, "postponed", FLAT, primary_key="k", bucket="-2", postpone__merge_on_read="true")
    yield "postponed", root, "bucket-postpone/*", reads.data


def _our_indexes(folder: Path) -> Iterator[Source]:
    questions = reads.filtered(*_QUESTIONS)
    for kind in ("bloom-filter", "bitmap", "bsi", "range-bitmap"):
        columns = "n" if kind == "bsi" else "v,n"
        options = {f"file-index.{kind}.columns": columns, "file-index.in-manifest-threshold": "1 b"}
        options |= {f"file-index.bloom-filter.{c}.items": "100" for c in "vn"} if kind == "bloom-filter" else {}
        root = filled(folder, f"index_{kind}", FLAT, **options)
        yield "file index", root, "**/*.index", questions
    for kind in ("btree", "bitmap"):
        for codec in ("none", "zstd", "lz4"):
            root = indexed(folder, f"{kind}_{codec}", kind, **{f"{kind}-index.compression": codec})
            yield "global index", root, "index/*.index", questions


def _blob_sources(folder: Path) -> Iterator[Source]:
    evolves = {"row_tracking__enabled": "true", "data_evolution__enabled": "true"}
    root = filled(folder, "blobs_of_parts", BLOBS, blob_field="b,ab,mb", **evolves)
    yield "nested blobs", root, "**/*.blob", reads.data
    root = filled(folder, "packed", BLOBS, primary_key="k", bucket="1", blob_field="b,ab,mb")
    yield "packs", root, "**/*.managed.blob", reads.packs
    yield "names of packs", root, "**/*.blobref", reads.packs


def _search_sources(folder: Path) -> Iterator[Source]:
    nearest = reads.searched(lambda table: table.search("e", [0.5, -0.5, 0.1, 1.0], 5, columns=["k"]))
    for kind in VECTOR_INDEXES:
        root = searchable(folder, f"vectors_{kind.replace('-', '_')}", kind)
        yield "vector index", root, "index/*.index", nearest
    texts = reads.searched(lambda table: table.search_text("v", "word3 row", 5, columns=["k"]))
    yield "text index", searchable(folder, "texts", FULL_TEXT), "index/*.index", texts
    questions = reads.filtered(HasAny("a", ("a3",)), HasAny("a", ("b7", "none", None)))
    yield "index of elements", searchable(folder, "elements", MULTIVALUE), "index/*.index", questions


# files that came later have mutants of their own, so that the numbers of the others' mutants stay
BLOB_KINDS = ("nested blobs", "packs", "names of packs")
SEARCH_KINDS = ("vector index", "text index", "index of elements")
KINDS = (
    *("schema", "snapshot", "hint", "tag", "branch", "consumer", "statistics"),
    *("manifest", "manifest list", "index manifest", "iceberg"),
    *("parquet", "orc", "avro", "text", "blob", "postponed"),
    *("deletion vector", "hash index", "file index", "global index"),
)
