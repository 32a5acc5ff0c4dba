"""The meaning of the metastore's errors: by their classes, and by their words only if Hive has no class."""

from __future__ import annotations

import enum

from pymetastore.hive_metastore import ttypes
from thrift.Thrift import TApplicationException, TException

from paimon_core.errors import StorageRefusedError


class Answer(enum.Enum):
    """The metastore's reason for refusing a call."""

    MISSING = "there is no such database, table, partition or lock"
    TAKEN = "the name is taken"
    INVALID = "it does not accept the arguments"
    UNKNOWN_CALL = "this version of the metastore does not have the call"
    FAILED = "anything else"


class MetastoreError(StorageRefusedError):
    """The metastore refused a call: it has changed nothing."""

    def __init__(self, message: str, answer: Answer) -> None:
        super().__init__(message)
        self.answer = answer


_CLASSES: dict[type[BaseException], Answer] = {
    ttypes.NoSuchObjectException: Answer.MISSING,
    ttypes.UnknownDBException: Answer.MISSING,
    ttypes.UnknownTableException: Answer.MISSING,
    ttypes.UnknownPartitionException: Answer.MISSING,
    ttypes.NoSuchLockException: Answer.MISSING,
    ttypes.NoSuchTxnException: Answer.MISSING,
    ttypes.TxnAbortedException: Answer.MISSING,
    ttypes.AlreadyExistsException: Answer.TAKEN,
    ttypes.InvalidObjectException: Answer.INVALID,
    ttypes.InvalidOperationException: Answer.INVALID,
    ttypes.InvalidInputException: Answer.INVALID,
}


def answer_of(error: TException) -> Answer:
    """Classify a declared exception of the metastore, or a failure inside it."""
    if isinstance(error, TApplicationException):
        return Answer.UNKNOWN_CALL if error.type == TApplicationException.UNKNOWN_METHOD else Answer.FAILED
    if isinstance(error, ttypes.InvalidOperationException) and "already exists" in words_of(error):
        return Answer.TAKEN  # of ALTER TABLE, which has no class for it
    return _CLASSES.get(type(error), Answer.FAILED)


def words_of(error: BaseException) -> str:
    """Return the metastore's message in one line of limited length."""
    said = " ".join(str(getattr(error, "message", None) or error).split())
    return (said if len(said) <= 500 else f"{said[:500]}…") or type(error).__name__
