"""Files that are told by their names alone are told with their table."""

from __future__ import annotations

import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnreadableFileError, UnsupportedVersionError
from paimon_core.store.named_files import files_of


@pytest.mark.parametrize("kind", [CorruptFileError, UnsupportedVersionError, UnfamiliarFormError])
def test_a_name_gets_its_table(kind: type[UnreadableFileError]) -> None:
    with (
        pytest.raises(kind, match=r"^File data-1\.orc of table db\.t .*: it is odd \(written by orc\).*; mend it\.$"),
        files_of("db.t"),
    ):
        raise kind("data-1.orc", "it is odd", "mend it", "orc")


def test_a_path_says_enough() -> None:
    with pytest.raises(CorruptFileError, match=r"^File /w/db\.db/t/x is corrupt"), files_of("db.t"):
        raise CorruptFileError("/w/db.db/t/x", "it is odd")
