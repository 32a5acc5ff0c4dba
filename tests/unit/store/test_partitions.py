"""Partitions of manifests that cannot be read."""

from __future__ import annotations

import pytest

from paimon_core.errors import UnfamiliarFormError
from paimon_core.expressions.predicate import Compare
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.types import INT, STRING, DataField
from paimon_core.store.partitions import PartitionFilter

FIELDS = (DataField(id=0, name="p", type=INT), DataField(id=1, name="q", type=STRING))


@pytest.mark.parametrize("partition", [b"", b"\x00\x00\x00\x02", encode_row([INT, STRING], [1, "x" * 20])[:-9]])
def test_a_partition_that_does_not_decode_is_not_called_corrupt(partition: bytes) -> None:
    by_value = PartitionFilter(FIELDS, predicate=Compare("p", "=", 1))
    for use in (by_value.columns, by_value.holds):
        with pytest.raises(UnfamiliarFormError, match="a partition in it does not decode") as raised:
            use(partition)
        assert "backup" not in str(raised.value) and "corrupt" not in str(raised.value)
