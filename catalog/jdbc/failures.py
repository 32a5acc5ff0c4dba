"""The meaning of a database's errors, by their codes: SQLSTATE of PostgreSQL, numbers of MySQL and SQLite.

One message is compared as text: SQLite has one number for several errors, and never translates "no such table".
"""

from __future__ import annotations

import enum
import sqlite3

from sqlalchemy.exc import DBAPIError, DisconnectionError


class Failure(enum.Enum):
    """The outcome of a statement that failed."""

    TAKEN = "a row with this key exists"
    NO_TABLE = "a table of the catalog does not exist yet"
    BUSY = "other clients hold locks: the statement was rolled back and can be repeated"
    GONE = "the connection is lost: the statement may have been executed"
    REFUSED = "the database refuses the statement, and would refuse it again"
    OTHER = "anything else"


_STATES = {
    "23505": Failure.TAKEN,
    "42P01": Failure.NO_TABLE,
    "40001": Failure.BUSY,
    "40P01": Failure.BUSY,
    "55P03": Failure.BUSY,
    "53300": Failure.BUSY,  # too many connections
    "57P01": Failure.GONE,  # ended by an administrator
    "57P02": Failure.GONE,
    "57P03": Failure.GONE,  # starting, or shutting down
    "25006": Failure.REFUSED,  # read-only
    "3D000": Failure.REFUSED,  # no such database
    "42501": Failure.REFUSED,  # no permission
    "53100": Failure.REFUSED,  # disk full
}
_CLASSES = {"08": Failure.GONE, "28": Failure.REFUSED}  # the first two of a state: connection, authorization
_NUMBERS = {
    **dict.fromkeys((1062, 1586), Failure.TAKEN),
    1146: Failure.NO_TABLE,
    **dict.fromkeys((1205, 1213, 1020, 1040, 1203), Failure.BUSY),
    **dict.fromkeys((2003, 2006, 2013, 2014, 2055, 1053, 1927, 4031), Failure.GONE),
    **dict.fromkeys(
        (1044, 1045, 1049, 1142, 1227, 1290, 1698, 1792, 1836, 1021, 1114, 1251, 2054, 2059), Failure.REFUSED
    ),
}
_SQLITE = {
    sqlite3.SQLITE_BUSY: Failure.BUSY,
    sqlite3.SQLITE_LOCKED: Failure.BUSY,
    **dict.fromkeys(
        (
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_NOTADB,
            sqlite3.SQLITE_CORRUPT,
            sqlite3.SQLITE_PERM,
            sqlite3.SQLITE_AUTH,
        ),
        Failure.REFUSED,
    ),
}


def failure_of(error: Exception) -> Failure:
    """Classify an error of SQLAlchemy, of a driver or of the network."""
    if isinstance(error, DBAPIError):
        known = failure_of(error.orig) if isinstance(error.orig, Exception) else Failure.OTHER
        return Failure.GONE if known is Failure.OTHER and error.connection_invalidated else known
    if isinstance(error, sqlite3.Error):
        return _sqlite_failure(error)
    if isinstance(error, OSError | DisconnectionError):
        return Failure.GONE
    first = error.args[0] if error.args else None
    if isinstance(first, int):  # PyMySQL
        return _NUMBERS.get(first, Failure.OTHER)
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):  # psycopg
        return _STATES.get(state) or _CLASSES.get(state[:2], Failure.OTHER)
    # Both drivers raise these errors if the server does not answer.
    return Failure.GONE if type(error).__name__ in ("InterfaceError", "OperationalError") else Failure.OTHER


def words_of(error: Exception) -> str:
    """Return the error message of the database or its driver."""
    orig = error.orig if isinstance(error, DBAPIError) and isinstance(error.orig, Exception) else error
    first = orig.args[0] if orig.args else None
    if isinstance(first, int) and len(orig.args) > 1:
        return f"{orig.args[1]} ({first})"
    return " ".join(str(orig).split()) or type(orig).__name__


def _sqlite_failure(error: sqlite3.Error) -> Failure:
    code = getattr(error, "sqlite_errorcode", None)
    if code in (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE):
        return Failure.TAKEN
    if code is not None and code & 0xFF == sqlite3.SQLITE_ERROR and str(error).startswith("no such table"):
        return Failure.NO_TABLE
    return Failure.OTHER if code is None else _SQLITE.get(code & 0xFF, Failure.OTHER)
