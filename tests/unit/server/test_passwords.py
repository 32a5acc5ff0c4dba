"""The file of users."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from paimon_core.errors import InvalidNameError
from paimon_sql.server.passwords import set_password


def test_a_password_is_not_in_the_file_and_can_be_changed(tmp_path: Path) -> None:
    file = tmp_path / "users"
    set_password(file, "ann", "wrong")
    set_password(file, "bob", "b$:é")
    set_password(file, "ann", "right")
    assert file.stat().st_mode & 0o777 == 0o600
    entries = dict(line.split(":", 1) for line in file.read_text("utf-8").splitlines())
    assert set(entries) == {"ann", "bob"}
    for user, password in (("ann", "right"), ("bob", "b$:é")):
        scheme, iterations, salt, made = entries[user].split("$")
        again = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(iterations))
        assert scheme == "pbkdf2_sha256" and base64.b64encode(again).decode() == made
        assert password not in file.read_text("utf-8")


@pytest.mark.parametrize("user", ["", "a:b", "a\nb", " a", "a\x00"])
def test_names_that_cannot_be(user: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidNameError):
        set_password(tmp_path / "users", user, "p")
    assert list(tmp_path.iterdir()) == []
