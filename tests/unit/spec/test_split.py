from __future__ import annotations

import json
from dataclasses import replace

import pytest

from paimon_core.errors import CorruptFileError
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.index_manifest import DeletionVectorMeta
from paimon_core.spec.split import DATA_SPLIT, DataSplit, DeletionFile, SplitKind
from paimon_core.spec.types import INT
from tests.unit.spec.test_manifest import BARE, FULL
from tests.unit.spec.test_message import NO_JSON, hostile

VECTOR = DeletionVectorMeta(data_file=FULL.file_name, offset=1, length=22, cardinality=3)
SPLIT = DataSplit(
    partition=encode_row([INT], [7]),
    bucket=3,
    bucket_dir="/w/t/p=7/bucket-3",
    files=(FULL, BARE),
    needs_merge=True,
    deletions=(DeletionFile("/w/t/index/index-1-0", VECTOR),),
    branch="b",
    row_ids=b"ids",
)


def test_both_ways() -> None:
    assert DATA_SPLIT.decode(DATA_SPLIT.encode(SPLIT)) == SPLIT
    compared = replace(SPLIT, kind=SplitKind.DIFFERENCE, before=(BARE,))
    assert DATA_SPLIT.decode(DATA_SPLIT.encode(compared)) == compared
    empty = DataSplit(partition=b"", bucket=0, bucket_dir="", files=())
    assert DATA_SPLIT.decode(DATA_SPLIT.encode(empty)) == empty
    assert not empty.needs_merge


def test_sums() -> None:
    assert SPLIT.row_count == FULL.row_count + BARE.row_count == 11
    assert (SPLIT.result_count, replace(SPLIT, needs_merge=False).result_count) == (None, 8)
    unknown = DeletionFile("", replace(VECTOR, cardinality=None))
    assert replace(SPLIT, needs_merge=False, deletions=(unknown,)).result_count is None
    assert SPLIT.size == FULL.file_size + BARE.file_size == 2**40 + 1


@pytest.mark.parametrize("text", [*NO_JSON, *hostile(json.loads(DATA_SPLIT.encode(SPLIT)))])
def test_what_is_no_split(text: str) -> None:
    with pytest.raises(CorruptFileError, match="<split> is corrupt: it does not decode .*run the statement again"):
        DATA_SPLIT.decode(text)


@pytest.mark.parametrize(
    "key", ["partition", "bucket", "bucket_dir", "needs_merge", "branch", "kind", "before", "files", "deletions"]
)
def test_a_missing_member_is_named(key: str) -> None:
    node = json.loads(DATA_SPLIT.encode(SPLIT))
    del node[key]
    with pytest.raises(CorruptFileError, match=f"no '{key}'"):
        DATA_SPLIT.decode(json.dumps(node))
