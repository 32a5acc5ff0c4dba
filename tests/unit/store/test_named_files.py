"""Files that are told by their names alone are told with their table."""

from __future__ import annotations

import pytest

from paimon_core.errors import CorruptFileError, UnsupportedVersionError
from paimon_core.store.named_files import files_of


@pytest.mark.parametrize("kind", [CorruptFileError, UnsupportedVersionError])
def test_a_name_gets_its_table(kind: type[CorruptFileError]) -> None:
    with (
        pytest.raises(kind, match=r"^File data-1\.orc of table db\.t is corrupt: it is odd; mend it\.$"),
        files_of("db.t"),
    ):
        raise kind("data-1.orc", "it is odd", "mend it")


def test_a_path_says_enough() -> None:
    with pytest.raises(CorruptFileError, match=r"^File /w/db\.db/t/x is corrupt"), files_of("db.t"):
        raise CorruptFileError("/w/db.db/t/x", "it is odd")
