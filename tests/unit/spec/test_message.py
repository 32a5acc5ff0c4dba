from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from paimon_core.errors import CorruptFileError
from paimon_core.spec.binary_row import EMPTY_ROW, encode_row
from paimon_core.spec.index_manifest import DeletionVectorMeta, IndexFileMeta
from paimon_core.spec.message import COMMIT_MESSAGE, CommitMessage
from paimon_core.spec.types import INT
from tests.support.golden_files import entries
from tests.unit.spec.test_manifest import BARE, FULL

VECTORS = IndexFileMeta(
    index_type="DELETION_VECTORS",
    file_name="index-1-0",
    file_size=31,
    row_count=1,
    dv_ranges=(DeletionVectorMeta(data_file="data-1.parquet", offset=1, length=22, cardinality=3),),
)
HASHES = IndexFileMeta(index_type="HASH", file_name="index-2-0", file_size=8, row_count=2)
MESSAGE = CommitMessage(
    partition=encode_row([INT], [7]),
    bucket=-2,
    total_buckets=4,
    new_files=(FULL,),
    compact_before=(BARE, FULL),
    compact_after=(BARE,),
    new_index_files=(VECTORS, HASHES),
    deleted_index_files=(HASHES,),
    compact_new_index_files=(VECTORS,),
    compact_deleted_index_files=(HASHES,),
    index_base=12,
)


def hostile(node: dict[str, Any]) -> list[str]:
    """Texts made of a good one: members missing, of other types, of other shapes."""
    wrong: tuple[Any, ...] = (None, True, 5, 1.5, "x", "ä", [], [5], {}, {"a": 5})
    swapped = [node | {k: w} for k, v in node.items() for w in wrong if type(w) is not type(v) or w == [5]]
    swapped += [node | {"partition": text} for text in ("A", "ä", "A A=", "AAAA\n")]
    required = [k for k in node if "base" not in k]
    return [json.dumps(n) for n in [*({k: node[k] for k in node if k != left_out} for left_out in required), *swapped]]


NO_JSON = ["", "{", "null", "5", '"x"', "[]", "\ud800", "[" * 100_000, '{"a":' * 100_000]


def test_both_ways() -> None:
    assert COMMIT_MESSAGE.decode(COMMIT_MESSAGE.encode(MESSAGE)) == MESSAGE
    empty = CommitMessage(partition=EMPTY_ROW, bucket=0, total_buckets=-1)
    assert COMMIT_MESSAGE.decode(COMMIT_MESSAGE.encode(empty)) == empty


def test_the_files_of_golden_tables_both_ways() -> None:
    found = entries()
    for _, _, e in found:
        message = replace(MESSAGE, partition=e.partition, bucket=e.bucket, new_files=(e.file,))
        assert COMMIT_MESSAGE.decode(COMMIT_MESSAGE.encode(message)) == message
    assert len(found) > 300


@pytest.mark.parametrize("text", [*NO_JSON, *hostile(json.loads(COMMIT_MESSAGE.encode(MESSAGE)))])
def test_what_is_no_message(text: str) -> None:
    with pytest.raises(CorruptFileError, match="<commit message> is corrupt: it does not decode .*run the statement"):
        COMMIT_MESSAGE.decode(text)


def test_what_is_no_file() -> None:
    node = json.loads(COMMIT_MESSAGE.encode(replace(MESSAGE, new_files=(FULL,))))
    (file,) = node["new_files"]
    required = {"_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID"}
    for column in file:
        left_out = {k: v for k, v in file.items() if k != column}
        values: list[Any] = [None, 1.5, True, [[]], *([{"a": 1}] if "STATS" not in column else [])]
        for broken in ([left_out] if column in required else []) + [file | {column: v} for v in values]:
            with pytest.raises(CorruptFileError):
                COMMIT_MESSAGE.decode(json.dumps(node | {"new_files": [broken]}))
    for moment in (2**63, -(2**63), 1e300):
        with pytest.raises(CorruptFileError):
            COMMIT_MESSAGE.decode(json.dumps(node | {"new_files": [file | {"_CREATION_TIME": moment}]}))
