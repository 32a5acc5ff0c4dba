"""The kinds of tables that histories are of."""

from __future__ import annotations

from tests.simulation.history import Setting

_FAST = {"commit.min-retry-wait": "10 ms", "commit.max-retry-wait": "1 s"}
_MERGES_SOON = {"num-sorted-run.compaction-trigger": "3", "manifest.merge-min-count": "4"}


def _table(
    name: str,
    *,
    key: bool = True,
    parts: bool = False,
    hides: bool = False,
    crosses: bool = False,
    chain: bool = False,
    **options: str,
) -> Setting:
    spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return Setting(name, _FAST | _MERGES_SOON | spelled, key, parts, hides=hides, crosses=crosses, chain=chain)


_VECTORS = {"deletion_vectors__enabled": "true"}
_EXPIRES = {"snapshot__num_retained__min": "1", "snapshot__num_retained__max": "2"}  # at every commit
_LONG = {"changelog__num_retained__min": "5", "changelog__num_retained__max": "8"}
_TAGS = {"tag__automatic_creation": "process-time", "tag__creation_period": "hourly", "tag__num_retained_max": "2"}
_CHAIN = {"chain_table__enabled": "true", "chain_table__chain_partition_keys": "p"} | {
    "partition__timestamp_pattern": "$p",
    "partition__timestamp_formatter": "yyyy",
}
SETTINGS: dict[str, Setting] = {
    s.table: s
    for s in (
        _table("append", key=False),
        _table("append, partitions", key=False, parts=True),
        _table("append, buckets", key=False, bucket="2", bucket_key="k"),
        _table("append, deletion vectors", key=False, **_VECTORS),
        _table("append, row tracking", key=False, row_tracking__enabled="true"),
        _table("data evolution", key=False, row_tracking__enabled="true", data_evolution__enabled="true", **_VECTORS),
        _table("keyed", bucket="2"),
        _table("keyed, partitions", bucket="1", parts=True),
        _table("keyed, write-only", bucket="1", write_only="true"),
        _table("dynamic buckets", bucket="-1", dynamic_bucket__target_row_num="3"),
        _table("keyed, deletion vectors", bucket="1", hides=True, **_VECTORS),
        _table("postponed buckets", bucket="-2", hides=True, postpone__default_bucket_num="2"),
        _table("partial-update", bucket="2", merge_engine="partial-update"),
        _table(
            "aggregation",
            bucket="2",
            merge_engine="aggregation",
            fields__id__aggregate_function="sum",
            fields__note__aggregate_function="max",
        ),
        _table("first-row", bucket="2", merge_engine="first-row", hides=True),
        _table("lookup", bucket="2", changelog_producer="lookup", hides=True),
        _table("full-compaction", bucket="2", changelog_producer="full-compaction"),
        _table("input", bucket="2", changelog_producer="input", changelog__num_retained__min="12"),
        _table("append, Avro", key=False, file__format="avro", **_VECTORS),
        _table("append, expiring", key=False, parts=True, **_EXPIRES),
        _table("data evolution, no vectors", key=False, row_tracking__enabled="true", data_evolution__enabled="true"),
        _table("keyed, ORC", bucket="2", file__format="orc"),
        _table("keyed, expiring", bucket="1", parts=True, **_EXPIRES),
        _table("keyed, automatic tags", bucket="1", **_TAGS, **_EXPIRES),
        _table("keyed, wide vectors", bucket="2", hides=True, deletion_vectors__bitmap64="true", **_VECTORS),
        _table("keyed, vectors in buckets", bucket="1", hides=True, index_file_in_data_file_dir="true", **_VECTORS),
        _table("keyed, merge on read", bucket="1", deletion_vectors__merge_on_read="true", **_VECTORS),
        _table("dynamic buckets, partitions", bucket="-1", dynamic_bucket__target_row_num="3", parts=True),
        _table("dynamic buckets, vectors", bucket="-1", dynamic_bucket__target_row_num="3", hides=True, **_VECTORS),
        _table("first-row, lookup", bucket="1", merge_engine="first-row", changelog_producer="lookup", hides=True),
        _table("lookup, vectors", bucket="1", changelog_producer="lookup", hides=True, **_VECTORS),
        _table("lookup, long changelogs", bucket="1", changelog_producer="lookup", hides=True, **_LONG, **_EXPIRES),
        _table("keys across partitions", bucket="-1", dynamic_bucket__target_row_num="3", parts=True, crosses=True),
        _table("chain", bucket="1", parts=True, chain=True, sequence__field="id", **_CHAIN),
        _table("full-compaction, write-only", bucket="1", changelog_producer="full-compaction", write_only="true"),
    )
}
