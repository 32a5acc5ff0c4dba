"""The kinds of tables that histories are of."""

from __future__ import annotations

from tests.simulation.history import Setting

_FAST = {"commit.min-retry-wait": "10 ms", "commit.max-retry-wait": "1 s"}
_MERGES_SOON = {"num-sorted-run.compaction-trigger": "3", "manifest.merge-min-count": "4"}


def _table(name: str, *, key: bool = True, parts: bool = False, hides: bool = False, **options: str) -> Setting:
    spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return Setting(name, _FAST | _MERGES_SOON | spelled, key, parts, hides=hides)


_VECTORS = {"deletion_vectors__enabled": "true"}
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
    )
}
