"""The file of users. Each user has a line `NAME:pbkdf2_sha256$ITERATIONS$SALT$HASH`, with salt and hash in base 64.

`PasswordFile.java` reads it at each login.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from pathlib import Path

from paimon_core.errors import InvalidNameError

_ITERATIONS = 600_000  # OWASP's recommendation for PBKDF2 with SHA-256
_SALT, _HASH = 16, 32  # bytes


def set_password(file: Path, user: str, password: str) -> None:
    """Add a user, or change a user's password. Only the owner of the file can read it. Raises `InvalidNameError`."""
    if not user or not user.isprintable() or ":" in user or user != user.strip():
        raise InvalidNameError(f"A user cannot be called {user!r}: give a name without colons and control characters.")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    kept = [line for line in lines if line.partition(":")[0] != user]
    descriptor, name = tempfile.mkstemp(dir=file.absolute().parent, prefix=f".{file.name}.")  # mode 600
    with os.fdopen(descriptor, "w", encoding="utf-8") as written:
        written.write("".join(f"{line}\n" for line in [*kept, f"{user}:{_entry(password)}"]))
    os.replace(name, file)


def _entry(password: str) -> str:
    salt = os.urandom(_SALT)
    made = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS, _HASH)
    return "$".join(("pbkdf2_sha256", str(_ITERATIONS), _text(salt), _text(made)))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
