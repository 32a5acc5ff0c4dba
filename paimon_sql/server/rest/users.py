"""The users of the REST API. Their file has a line `NAME:sha256$HASH[:read-only]` for each token.

A token consists of 32 random bytes, so it cannot be guessed from its plain SHA-256. A changed file is read again.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidNameError, InvalidOptionError

_LINE = re.compile(r"(?P<name>[^:]+):sha256\$(?P<hash>[0-9a-f]{64})(?P<read_only>:read-only)?")
_READ_ONLY = ":read-only"


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request."""

    name: str
    read_only: bool = False


ANYONE = User("anonymous")


class Users:
    """The users of a file. Raises `InvalidOptionError` if the file is missing or invalid, or if others can read it."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._by_hash: Mapping[str, User] = {}
        self._refresh()

    def of_token(self, token: str) -> User | None:
        """Return the user of a token, None for an unknown token."""
        with self._lock:
            self._refresh()
            return self._by_hash.get(_hashed(token))

    def _refresh(self) -> None:
        try:
            found = self._file.stat()
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen == self._seen:
                return
            if stat.S_IMODE(found.st_mode) & 0o077:
                raise InvalidOptionError(
                    f"Other users of this machine can read the token file {self._file}: chmod 600 {self._file}."
                )
            lines = self._file.read_text("utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InvalidOptionError(f"The token file {self._file} cannot be read: {error}.") from None
        self._by_hash, self._seen = dict(_user(self._file, n, line) for n, line in enumerate(lines, 1) if line), seen


def add_token(file: Path, user: str, *, read_only: bool) -> str:
    """Add a user, or give an existing user a new token. Return the token, which is stored nowhere. Raises
    `InvalidNameError`.
    """
    if not user or not user.isprintable() or ":" in user or user != user.strip():
        raise InvalidNameError(f"A user cannot be called {user!r}: give a name without colons and control characters.")
    token = secrets.token_urlsafe(32)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    kept = [line for line in lines if line.partition(":")[0] != user]
    entry = f"{user}:sha256${_hashed(token)}{_READ_ONLY if read_only else ''}"
    descriptor, name = tempfile.mkstemp(dir=file.absolute().parent, prefix=f".{file.name}.")  # mode 600
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write("".join(f"{line}\n" for line in [*kept, entry]))
    os.replace(name, file)
    return token


def _user(file: Path, number: int, line: str) -> tuple[str, User]:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise InvalidOptionError(
            f"Line {number} of token file {file} is invalid. Create entries with --add-token NAME."
        )
    return match["hash"], User(match["name"], match["read_only"] is not None)


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
