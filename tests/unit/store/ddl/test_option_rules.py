from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.tables import fields

COLUMNS = fields(k=INT, v=STRING)
KEYED = {"primary-key": "k", "bucket": "1"}
IGNORED = "changelog-producer.row-deduplicate-ignore-fields"
REFUSED: list[tuple[str, dict[str, str]]] = [
    ("file.format", {"file.format": "excel"}),
    ("file.format", {"file.format.per.level": "0:excel"}),
    ("snapshot.num-retained.min", {"snapshot.num-retained.min": "0"}),
    ("snapshot.num-retained.max", {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "3"}),
    (
        "which is 10, should not be larger than 'snapshot.num-retained.max', which is 3",
        {"snapshot.num-retained.max": "3"},
    ),
    ("changelog.num-retained.min", {"changelog.num-retained.max": "3"}),
    ("changelog.num-retained.min", {"changelog.num-retained.min": "0"}),
    ("target-file-row-num", {"target-file-row-num": "0"}),
    ("bucket-function.type", {"bucket-function.type": "mod", **KEYED, "primary-key": "v"}),
    ("num-levels", {"num-levels": "1", **KEYED}),
    ("num-sorted-run.compaction-trigger", {"num-sorted-run.compaction-trigger": "0", **KEYED}),
    ("dynamic-bucket.target-row-num", {"dynamic-bucket.target-row-num": "0", "primary-key": "k"}),
    ("full-compaction.delta-commits", {"changelog-producer": "lookup", "full-compaction.delta-commits": "2", **KEYED}),
    ("streaming-read-overwrite", {"streaming-read-overwrite": "true"}),
    ("streaming-read-overwrite", {"streaming-read-overwrite": "true", "changelog-producer": "lookup", **KEYED}),
    ("sequence.snapshot-ordering", {"sequence.snapshot-ordering": "true", "write-only": "true"}),
    ("sequence.snapshot-ordering", {"sequence.snapshot-ordering": "true", **KEYED}),
    (
        "sequence.snapshot-ordering",
        {"sequence.snapshot-ordering": "true", "write-only": "true", "sequence.field": "v", **KEYED},
    ),
    ("changelog-producer.row-deduplicate-ignore-fields", {IGNORED: "v,w", "changelog-producer": "lookup", **KEYED}),
    ("clustering.incremental' needs 'clustering.columns", {"clustering.incremental": "true"}),
    ("clustering.columns", {"sink.clustering.by-columns": "w"}),
    (
        "clustering.incremental",
        {
            "clustering.incremental": "true",
            "clustering.columns": "v",
            "row-tracking.enabled": "true",
            "data-evolution.enabled": "true",
        },
    ),
    *(
        (f"'{key}' cannot be 'x'", {key: "x", **KEYED})
        for key in (
            "full-compaction.delta-commits",
            "compaction.size-ratio",
            "compaction.optimization-interval",
            "compaction.offpeak.start.hour",
            "changelog-producer.row-deduplicate",
            "cross-partition-upsert.index-ttl",
            "lookup.cache-max-disk-size",
            "lookup-compact",
            "spill-compression",
            "write-buffer-spillable",
        )
    ),
    ("'file.format' cannot be 'row': this version writes parquet, orc", {"file.format": "row"}),
    ("changelog-file.format", {"changelog-file.format": "mosaic", **KEYED}),
    ("'file.compression' cannot be 'rar' for Parquet", {"file.compression": "rar"}),
    ("changelog-file.compression.*'rar'", {"changelog-file.compression": "rar", **KEYED}),
    ("file.compression.per.level.*'snap' for ORC", {"file.compression.per.level": "0:snap", "file.format": "orc"}),
    ("'avro.codec' cannot be 'lz4' for Avro", {"file.format": "avro", "avro.codec": "lz4"}),
    ("manifest.format", {"manifest.format": "csv"}),
    ("'manifest.compression' cannot be 'rar'", {"manifest.compression": "rar"}),
    *(
        (f"'{key}' cannot be", {"file.format": key.partition(".")[0], key: "-1"})
        for key in (
            "parquet.compression",
            "parquet.compression#v",
            "parquet.page.size",
            "parquet.page.row.count.limit",
            "parquet.bloom.filter.enabled#k",
            "parquet.enable.dictionary",
            "parquet.writer.version",
            "orc.compress",
            "orc.compression.strategy",
            "orc.bloom.filter.fpp",
            "orc.dictionary.key.threshold",
            "orc.stripe.size",
            "json.ignore-parse-errors",
            "json.map-null-key-mode",
            "csv.mode",
            "csv.field-delimiter",
        )
    ),
    ("'orc.bloom.filter.columns' cannot name 'w'", {"file.format": "orc", "orc.bloom.filter.columns": "w"}),
    ("'parquet.bloom.filter.fpp#k'", {"parquet.bloom.filter.enabled": "true", "parquet.bloom.filter.fpp#k": "2"}),
    ("sequence-group", {"merge-engine": "partial-update", "fields.v.xsequence-group": "v", **KEYED}),
]
CHAIN = {
    "chain-table.enabled": "true",
    "primary-key": "k,v",
    "partition": "v",
    "bucket": "1",
    "sequence.field": "k",
    "partition.timestamp-pattern": "$v",
    "partition.timestamp-formatter": "yyyyMMdd",
}
NO_CHAIN: list[tuple[str, dict[str, str | None]]] = [
    ("Primary key is required", {"primary-key": None, "sequence.field": None, "bucket-key": "k"}),
    ("must be partition table", {"partition": None}),
    ("Bucket number", {"bucket": "-1"}),
    ("Sequence field", {"sequence.field": None}),
    ("producer must be none or input", {"changelog-producer": "lookup"}),
    ("deduplicate merge engine", {"merge-engine": "partial-update", "deletion-vectors.enabled": "true"}),
    ("timestamp pattern", {"partition.timestamp-pattern": None}),
    ("timestamp formatter", {"partition.timestamp-formatter": None}),
    ("'values-time'", {"partition.expiration-time": "1 d", "partition.expiration-strategy": "update-time"}),
    ("contiguous suffix", {"chain-table.chain-partition-keys": "k"}),
    ("contiguous suffix", {"chain-table.chain-partition-keys": "v,v"}),
    ("contiguous suffix", {"chain-table.chain-partition-keys": ""}),
]


@pytest.mark.parametrize(("said", "changed"), NO_CHAIN)
def test_what_no_chain_table_can_have(said: str, changed: dict[str, str | None]) -> None:
    options = {k: v for k, v in (CHAIN | changed).items() if v is not None}
    with pytest.raises(InvalidOptionError, match=said):
        new_table_schema(COLUMNS, options=options)


def test_a_chain_table() -> None:
    new_table_schema(COLUMNS, options=CHAIN | {"chain-table.chain-partition-keys": "v", "changelog-producer": "input"})


@pytest.mark.parametrize(("named", "options"), REFUSED)
def test_what_no_table_can_have_is_refused_by_name(named: str, options: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match=named):
        new_table_schema(COLUMNS, options=options)


@pytest.mark.parametrize(
    "options",
    [
        {"file.format": "ORC", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"},
        {"parquet.enable.dictionary": "false", "parquet.enable.dictionary#k": "true"},
        {"snapshot.num-retained.min": "3", "snapshot.num-retained.max": "3", "target-file-row-num": "1"},
        {"streaming-read-overwrite": "true", "changelog-producer": "input", **KEYED},
        {"compaction.offpeak.start.hour": "18", "compaction.offpeak.end.hour": "24", **KEYED},
        {"changelog-producer": "lookup", IGNORED: "v", **KEYED},
        {"clustering.incremental": "true", "clustering.columns": "k,v"},
        {"sequence.snapshot-ordering": "true", "write-only": "true", **KEYED},
        {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2", **KEYED},
    ],
)
def test_others_are_taken(options: dict[str, str]) -> None:
    assert new_table_schema(COLUMNS, options=options).options.items() <= options.items()
