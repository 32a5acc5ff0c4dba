from __future__ import annotations

import numpy as np
import pytest

from paimon_core.errors import CorruptFileError
from paimon_core.spec.binary_row import decode_row, encode_body
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.index_manifest import HASH_INDEX
from paimon_core.write.buckets.dynamic import decode_hashes, encode_hashes
from tests.support.golden import golden_table
from tests.support.golden_files import metadata_files
from tests.support.manifests import decode_index_manifest


def test_both_ways_big_endian() -> None:
    hashes = np.array([1, -1, 2**31 - 1, -(2**31)], dtype=np.int32)
    assert encode_hashes(hashes) == bytes.fromhex("00000001 ffffffff 7fffffff 80000000")
    assert decode_hashes("p", encode_hashes(hashes), 4).tolist() == hashes.tolist()


def test_golden_indexes_hold_the_hashes_of_the_keys() -> None:
    table = golden_table("bucket_dynamic_partitioned")
    types = table.schema.types(table.schema.trimmed_primary_keys)
    checked = 0
    for path in metadata_files("bucket_dynamic_partitioned/manifest/index-manifest-*"):
        for entry in decode_index_manifest(str(path), path.read_bytes()):
            file = path.parent.parent / "index" / entry.file.file_name
            assert entry.file.index_type == HASH_INDEX
            found = set(decode_hashes(str(file), file.read_bytes(), entry.file.row_count).tolist())
            files = [
                f
                for s in table.plan(table.latest_snapshot()).splits
                if (s.partition, s.bucket) == (entry.partition, entry.bucket)
                for f in s.files
            ]
            bounds = {k for f in files for k in (f.min_key, f.max_key)}
            assert bounds and {murmur3_row(encode_body(types, decode_row(types, k))) for k in bounds} <= found
            checked += 1
    assert checked > 1


def test_another_length_is_named() -> None:
    for data, count in ((b"\0" * 7, 2), (b"", 1), (b"\0" * 8, 1)):
        with pytest.raises(CorruptFileError, match=f"File p is corrupt: it has {len(data)} bytes.* {count} hashes"):
            decode_hashes("p", data, count)
