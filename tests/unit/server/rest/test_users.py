"""The file of tokens."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paimon_core.errors import InvalidNameError, InvalidOptionError
from paimon_sql.server.rest.users import User, Users, add_token


def test_tokens_are_of_users_and_not_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    ann, bob = add_token(file, "ann", read_only=False), add_token(file, "bob", read_only=True)
    assert file.stat().st_mode & 0o777 == 0o600 and ann not in file.read_text() and len(ann) > 40
    users = Users(file)
    assert (users.of_token(ann), users.of_token(bob)) == (User("ann"), User("bob", read_only=True))
    assert users.of_token("") is None and users.of_token("\udcff") is None
    time.sleep(0.01)
    again = add_token(file, "ann", read_only=True)
    assert users.of_token(ann) is None and users.of_token(again) == User("ann", read_only=True)


@pytest.mark.parametrize("user", ["", "a:b", "a\nb", " a"])
def test_users_that_cannot_be(user: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidNameError):
        add_token(tmp_path / "tokens", user, read_only=False)


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    with pytest.raises(InvalidOptionError, match="cannot be read"):
        Users(file)
    file.write_text("ann:password\n")
    file.chmod(0o600)
    with pytest.raises(InvalidOptionError, match="Line 1") as caught:
        Users(file)
    assert "password" not in str(caught.value)
    file.chmod(0o640)
    with pytest.raises(InvalidOptionError, match="chmod 600"):
        Users(file)
