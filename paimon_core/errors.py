"""Every error that paimon_core raises: one tree with one root.

PaimonError
├── InvalidNameError (ValueError)          a name that cannot be a file name
├── InvalidSchemaError (ValueError)        a schema, or a change of it, that Paimon does not allow
├── InvalidOptionError (ValueError)        an invalid option value, or an invalid combination of options
├── UnsupportedFeatureError                the table uses something this version does not implement
├── InvalidDataError (ValueError)          rows that the table does not accept
│   ├── NullValueError                     NULL in a column, or in a part of a value, that is NOT NULL
│   ├── SeveralMatchesError                several rows of a MERGE's source match one row
│   ├── ColumnNotFoundError                a column to be assigned does not exist
│   └── MergeRefusedError                  rows of one key that the merge engine cannot merge
├── NotFoundError (LookupError)
│   ├── FunctionNotFoundError              the function does not exist
│   ├── DatabaseNotFoundError, SchemaNotFoundError, ConsumerNotFoundError, ViewNotFoundError, TableNotFoundError
│   │   └── BranchNotFoundError            a kind of TableNotFoundError
│   ├── SnapshotNotFoundError
│   │   └── TagNotFoundError               a kind of SnapshotNotFoundError
│   └── DataFileMissingError               metadata names a file that does not exist
├── AlreadyExistsError
│   ├── DatabaseExistsError, TableExistsError, ViewExistsError, FunctionExistsError, TagExistsError, BranchExistsError
├── DatabaseNotEmptyError
├── UnreadableFileError                    a file with content that cannot be used
│   ├── CorruptFileError                   its bytes are damaged
│   ├── MetadataMissingError               metadata names a file of metadata that does not exist
│   ├── UnsupportedVersionError            a later version of the format wrote it
│   └── UnfamiliarFormError                its bytes are healthy, in a form that this version does not understand
├── StorageError (OSError)                 the storage failed: the operation may have happened or not
│   ├── FolderMissingError                 the folder of a new file was deleted or renamed meanwhile
│   └── StorageRefusedError                no permission, no space, read-only: nothing was changed
├── NotAllowedError                        the table names a place that its catalog does not allow
├── NoPrivilegeError                       the user of the catalog may not do this
├── UnsafeStorageError                     the storage cannot publish atomically and no lock was given
├── CommitConflictError                    another commit changed what this one is based on
│   └── BucketConflictError                it gave new keys their buckets, which can be looked up again
├── AlreadyCommittedError                  a commit that is made once, and was made before
├── CommitUnknownError                     the publish call failed and its outcome is unknown
└── InternalError                          a fault of this library itself

Messages state what failed, on which object, why, and what to do.
"""

from __future__ import annotations

import traceback
from typing import Self

from paimon_core.secrets import without_secrets

_MOST_LATER = 100  # one format does not have this many versions
_REPORT = "report it, with this message, in the issue tracker of paimon-sql"


class PaimonError(Exception):
    """Root of all errors of this library."""


class InvalidNameError(PaimonError, ValueError):
    """An invalid name of a database, table, column, branch or tag."""


class InvalidSchemaError(PaimonError, ValueError):
    """A schema, or a change of a schema, that the format does not allow."""


class InvalidOptionError(PaimonError, ValueError):
    """An invalid option value, or an invalid combination of options."""


class UnsupportedFeatureError(PaimonError):
    """The table or statement needs something this version does not implement."""


class InvalidDataError(PaimonError, ValueError):
    """Rows that the table does not accept."""


class NullValueError(InvalidDataError):
    """NULL in a column, or in a part of a value, that is NOT NULL."""


class SeveralMatchesError(InvalidDataError):
    """Several rows of a MERGE's source match one row of its target."""


class ColumnNotFoundError(InvalidDataError):
    """A column that a statement assigns does not exist."""


class MergeRefusedError(InvalidDataError):
    """Rows of one key that the merge engine cannot merge."""


class NotFoundError(PaimonError, LookupError):
    """A named object does not exist."""


class DatabaseNotFoundError(NotFoundError):
    """The database does not exist."""


class TableNotFoundError(NotFoundError):
    """The table does not exist."""


class ViewNotFoundError(NotFoundError):
    """The view does not exist."""


class SnapshotNotFoundError(NotFoundError):
    """The snapshot, tag or point in time does not exist."""


class TagNotFoundError(SnapshotNotFoundError):
    """The tag does not exist."""


class BranchNotFoundError(TableNotFoundError):
    """The branch does not exist."""


class SchemaNotFoundError(NotFoundError):
    """The schema version does not exist."""


class ConsumerNotFoundError(NotFoundError):
    """The consumer does not exist."""


class FunctionNotFoundError(NotFoundError):
    """The function does not exist."""


class DataFileMissingError(NotFoundError):
    """Metadata names a file that is not on the storage."""


class AlreadyExistsError(PaimonError):
    """An object to be created already exists."""


class DatabaseExistsError(AlreadyExistsError):
    """The database already exists."""


class TableExistsError(AlreadyExistsError):
    """The table already exists."""


class ViewExistsError(AlreadyExistsError):
    """A view or a table already has the name."""


class FunctionExistsError(AlreadyExistsError):
    """The function already exists."""


class TagExistsError(AlreadyExistsError):
    """The tag already exists."""


class BranchExistsError(AlreadyExistsError):
    """The branch already exists."""


class DatabaseNotEmptyError(PaimonError):
    """The database still has tables, views or functions."""


class UnreadableFileError(PaimonError):
    """The content of a file cannot be used: it is damaged, or this version does not understand it."""

    default_advice = "check the file"

    def __init__(self, path: str, cause: str, advice: str = "", writer: str = ""):
        """Create the error. `cause` is the fault of the file `path`; `writer` is the software that wrote it, if
        known.
        """
        path = without_secrets(path)  # other code also shows the path, not only the error's own text
        advice = advice or self.default_advice
        super().__init__(path, cause, advice, writer)  # pickle copies the error from these arguments
        self.path, self.cause, self.advice, self.writer = path, cause, advice, writer

    def __str__(self) -> str:
        return without_secrets(f"File {self.path} cannot be used: {self.cause}{self._written()}; {self.advice}.")

    def _written(self) -> str:
        return f" (written by {self.writer})" if self.writer else ""

    def changed(self, *, path: str = "", advice: str = "", writer: str = "") -> Self:
        """Return the same error with another path, advice or writer. An empty text keeps the present one."""
        return type(self)(path or self.path, self.cause, advice or self.advice, writer or self.writer)


class CorruptFileError(UnreadableFileError):
    """The bytes of a file are damaged: a checksum differs, the file is truncated, or it cannot be decoded."""

    default_advice = "restore the file from a backup, or roll back past it"

    def __str__(self) -> str:
        return without_secrets(f"File {self.path} is corrupt: {self.cause}{self._written()}; {self.advice}.")

    def sized(self, size: int) -> Self:
        """Return the same error with the size of the file in bytes, which shows whether the file was cut off."""
        shown = f"; it has {size} bytes"
        return (
            self if self.cause.endswith(shown) else type(self)(self.path, self.cause + shown, self.advice, self.writer)
        )


class MetadataMissingError(UnreadableFileError):
    """A file of metadata, such as a manifest, that other metadata names and that does not exist."""

    default_advice = "run the statement again, or restore the file from a backup"

    def __str__(self) -> str:
        return without_secrets(f"File {self.path} is missing: {self.cause}{self._written()}; {self.advice}.")


class UnsupportedVersionError(UnreadableFileError):
    """A later version of the format wrote the file."""

    default_advice = f"upgrade paimon-sql; if you have the latest version, {_REPORT}"

    def __str__(self) -> str:
        failed = f"File {self.path} has a later version of the format"
        return without_secrets(f"{failed}: {self.cause}{self._written()}. The file is left as it is; {self.advice}.")


class UnfamiliarFormError(UnreadableFileError):
    """The bytes of a file are healthy, but in a form that this version does not understand."""

    default_advice = f"upgrade paimon-sql; if the latest version does not read the file, {_REPORT}"

    def __str__(self) -> str:
        failed = f"File {self.path} has a form that this version of paimon-sql does not understand"
        return without_secrets(f"{failed}: {self.cause}{self._written()}. The file is left as it is; {self.advice}.")


class StorageError(PaimonError, OSError):
    """The storage refused or failed."""


class FolderMissingError(StorageError, FileNotFoundError):
    """The folder of a new file no longer exists."""


class StorageRefusedError(StorageError):
    """The storage refused: the operation did not happen, and an immediate retry does not help."""


class NotAllowedError(PaimonError):
    """The table names a file or an address outside of its folder that its catalog does not allow."""


class NoPrivilegeError(PaimonError):
    """The user of the catalog lacks a privilege, or the user name and password are wrong."""


class UnsafeStorageError(PaimonError):
    """The storage has no atomic create and the catalog has no lock."""


class CommitConflictError(PaimonError):
    """Another commit changed the version on which this commit is based."""


class BucketConflictError(CommitConflictError):
    """Another commit assigned new keys to buckets; this commit can look up its buckets again."""


class AlreadyCommittedError(PaimonError):
    """A commit that is made once was made before. This try published nothing, and nothing is missing."""


class CommitUnknownError(PaimonError):
    """The outcome of a publish call is unknown; the commit may or may not be visible."""


class InternalError(PaimonError):
    """A fault of this library, not of a statement, a table or a storage."""

    @classmethod
    def of(cls, error: Exception) -> InternalError:
        """Convert an unexpected exception for users; a note contains the stack trace."""
        made = cls(
            f"Unexpected {type(error).__name__}: {error}. This is a fault of paimon-sql: please report it with the "
            "stack trace."
        )
        made.add_note("".join(traceback.format_exception(error)))
        return made


def is_later(found: int, known: int) -> bool:
    """Return whether a version number may belong to a later format. A much larger number is a sign of damage."""
    return known < found < known + _MOST_LATER


def reason(error: Exception) -> str:
    """Return the text of a library's exception for use in our messages, or the name of its class if it has no text."""
    return f"there is no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
