"""Every option of Paimon's tables takes only values of its type, when a table is made and when it is altered."""

from __future__ import annotations

import re

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption, apply_changes
from tests.support.paimon_options import PaimonOption, paimon_options
from tests.support.tables import fields

COLUMNS = fields(k=INT, v=INT)
KEYED = {"primary-key": "k", "bucket": "1"}
# Parquet itself takes a flag where the page says a number; the type of a table is looked at before its options
UNTYPED = ("parquet.enable.dictionary", "type")
TYPED = [o for o in paimon_options() if o.kind != "String" and o.key not in UNTYPED]
WRONG = {
    "Boolean": ("x", "", "1"),
    "Double": ("x", "", "nan", "inf"),
    "Duration": ("x", "", "-1 s", "1 week"),
    "Enum": ("x", ""),
    "Float": ("x", ""),
    "Integer": ("x", "", "1.5", "2147483648"),
    "Long": ("x", "", "1.5", "9223372036854775808"),
    "Map": ("x",),
    "MemorySize": ("x", "", "-1", "1 pb"),
}
# below, or above, what the type holds but the option does not
OUT_OF_RANGE = {
    "bucket": "-3 0",
    "compaction.delete-ratio-threshold": "-0.1",
    "compaction.max-size-amplification-percent": "-1",
    "compaction.min.file-num": "0",
    "compaction.offpeak-ratio": "-1",
    "compaction.offpeak.end.hour": "-2 25",
    "compaction.offpeak.start.hour": "-2 24",
    "compaction.size-ratio": "-1",
    "compaction.small-file-ratio": "-0.1",
    "dynamic-bucket.assigner-parallelism": "-1",
    "dynamic-bucket.initial-buckets": "-1 0",
    "dynamic-bucket.max-buckets": "-2 0",
    "dynamic-bucket.target-row-num": "0",
    "full-compaction.delta-commits": "-1",
    "local-sort.max-num-file-handles": "0",
    "lookup-compact.max-interval": "-1",
    "lookup.cache.high-priority-pool-ratio": "-0.1 1",
    "num-levels": "1",
    "num-sorted-run.compaction-trigger": "0",
    "page-size": "0",
    "postpone.batch-write-fixed-bucket.max-parallelism": "0",
    "postpone.default-bucket-num": "0",
    "postpone.target-row-num-per-bucket": "0",
    "sort-spill-threshold": "1",
    "target-file-row-num": "0",
    "write-buffer-size": "0",
    "zorder.var-length-contribution": "0",
}


def check_refused(key: str, value: str) -> None:
    said = re.escape(f"ption '{key}'")
    with pytest.raises(InvalidOptionError, match=said):
        new_table_schema(COLUMNS, options=KEYED | {key: value})
    with pytest.raises(InvalidOptionError, match=said):
        apply_changes(new_table_schema(COLUMNS, options=KEYED), [SetOption(key, value)], 7)


@pytest.mark.parametrize("option", TYPED, ids=lambda o: o.key)
def test_values_of_another_type_are_refused(option: PaimonOption) -> None:
    for value in WRONG[option.kind]:
        check_refused(option.key, value)


@pytest.mark.parametrize("key", OUT_OF_RANGE)
def test_values_out_of_range_are_refused(key: str) -> None:
    for value in OUT_OF_RANGE[key].split():
        check_refused(key, value)


@pytest.mark.parametrize("key", ["changelog-producer.lookup-wait", "lookup-wait", "write.compaction-skip"])
def test_keys_of_before_are_checked_too(key: str) -> None:
    check_refused(key, "x")
    assert new_table_schema(COLUMNS, options=KEYED | {key: "true"}).options[key] == "true"
