"""Row ranges of data evolution: what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import UnfamiliarFormError
from paimon_core.spec.row_ranges import row_ranges
from tests.support.tables import data_file, new_store


def test_a_file_from_before_the_option_is_named_with_the_option(tmp_path: Path) -> None:
    """Java refuses such a table, too: "First row id should not be null"."""
    file = data_file(new_store(tmp_path), 0, 0, first_row_id=None)
    with pytest.raises(UnfamiliarFormError, match=f"{file.file_name}.*no first row id.*set it to 'false' again"):
        row_ranges([file])
