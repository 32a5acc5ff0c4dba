from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.lsm.rows import group_by_key

near, far = st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)


@given(
    st.lists(st.tuples(near, near), max_size=40)
    | st.lists(st.tuples(far, near), max_size=40)
    | st.lists(st.tuples(near, near), max_size=40).map(sorted)
)
def test_rows_are_ordered_by_key_then_sequence_then_position(rows: list[tuple[int, int]]) -> None:
    keys, sequences = (np.array([r[i] for r in rows], dtype=np.int64) for i in range(2))
    grouped = group_by_key(pa.record_batch({"k": keys}), keys, sequences)
    expected = sorted(range(len(rows)), key=lambda i: (*rows[i], i))
    assert grouped.order.tolist() == expected
    assert grouped.last.tolist() == [
        i + 1 == len(expected) or rows[expected[i + 1]][0] != rows[expected[i]][0] for i in range(len(expected))
    ]
