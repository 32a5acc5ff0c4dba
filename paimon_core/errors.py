"""Every error paimon_core raises, one tree with one root.

PaimonError
├── InvalidNameError (ValueError)          a name that cannot be a file name
├── InvalidSchemaError (ValueError)        a schema or an evolution that Paimon does not allow
├── InvalidOptionError (ValueError)        an option value that does not parse, or a combination that is refused
├── UnsupportedFeatureError                the table uses something this version does not implement
├── InvalidDataError (ValueError)          rows that the table cannot take (NULL in a NOT NULL column, …)
│   ├── SeveralMatchesError                several rows of a MERGE's source match one row
│   ├── ColumnNotFoundError                a column to be assigned is not there
│   └── MergeRefusedError                  rows of one key that the merge engine cannot make one
├── NotFoundError (LookupError)
│   ├── FunctionNotFoundError              there is no such function
│   ├── DatabaseNotFoundError, SchemaNotFoundError, ConsumerNotFoundError, ViewNotFoundError, TableNotFoundError
│   │   └── BranchNotFoundError            a kind of TableNotFoundError
│   ├── SnapshotNotFoundError
│   │   └── TagNotFoundError               a kind of SnapshotNotFoundError
│   └── DataFileMissingError               metadata names a file that is not there
├── AlreadyExistsError
│   ├── DatabaseExistsError, TableExistsError, ViewExistsError, FunctionExistsError, TagExistsError, BranchExistsError
├── DatabaseNotEmptyError
├── CorruptFileError                       a file whose content is not what its name says
│   └── UnsupportedVersionError            written by a newer version of the format
├── StorageError (OSError)                 the storage failed: what was asked may have happened or not
│   └── StorageRefusedError                no permission, no space, read-only: nothing was changed
├── NotAllowedError                        the table names what its catalog does not let it reach
├── NoPrivilegeError                       the user of the catalog may not do this
├── UnsafeStorageError                     the storage cannot publish atomically and no lock was given
├── CommitConflictError                    another commit changed what this one is based on
│   └── BucketConflictError                it gave new keys their buckets, which can be looked up again
├── AlreadyCommittedError                  a commit that is made once, and was made before
├── CommitUnknownError                     the publish call failed and its outcome could not be established
└── InternalError                          a fault of this library itself

Messages say what is wrong, on which object, why, and what to do.
"""

from __future__ import annotations

import traceback

from paimon_core.secrets import without_secrets


class PaimonError(Exception):
    """Root of all errors of this library."""


class InvalidNameError(PaimonError, ValueError):
    """A database, table, column, branch or tag name that is refused."""


class InvalidSchemaError(PaimonError, ValueError):
    """A schema, or a change of one, that the format does not allow."""


class InvalidOptionError(PaimonError, ValueError):
    """An option value that does not parse, or a combination of options that is refused."""


class UnsupportedFeatureError(PaimonError):
    """The table or statement needs something this version does not implement."""


class InvalidDataError(PaimonError, ValueError):
    """Rows that the table cannot take."""


class SeveralMatchesError(InvalidDataError):
    """Several rows of a MERGE's source match one row of its target."""


class ColumnNotFoundError(InvalidDataError):
    """A column that a statement assigns is not there."""


class MergeRefusedError(InvalidDataError):
    """Rows of one key that the merge engine cannot make one."""


class NotFoundError(PaimonError, LookupError):
    """Something named does not exist."""


class DatabaseNotFoundError(NotFoundError):
    """No such database."""


class TableNotFoundError(NotFoundError):
    """No such table."""


class ViewNotFoundError(NotFoundError):
    """No such view."""


class SnapshotNotFoundError(NotFoundError):
    """No such snapshot, tag or point in time."""


class TagNotFoundError(SnapshotNotFoundError):
    """No such tag."""


class BranchNotFoundError(TableNotFoundError):
    """No such branch."""


class SchemaNotFoundError(NotFoundError):
    """No such schema version."""


class ConsumerNotFoundError(NotFoundError):
    """No such consumer."""


class FunctionNotFoundError(NotFoundError):
    """No such function."""


class DataFileMissingError(NotFoundError):
    """Metadata names a file that is not on the storage."""


class AlreadyExistsError(PaimonError):
    """Something to be created exists."""


class DatabaseExistsError(AlreadyExistsError):
    """The database exists."""


class TableExistsError(AlreadyExistsError):
    """The table exists."""


class ViewExistsError(AlreadyExistsError):
    """There is a view of that name, or a table."""


class FunctionExistsError(AlreadyExistsError):
    """There is a function of that name."""


class TagExistsError(AlreadyExistsError):
    """The tag exists."""


class BranchExistsError(AlreadyExistsError):
    """The branch exists."""


class DatabaseNotEmptyError(PaimonError):
    """The database still has tables or views."""


class CorruptFileError(PaimonError):
    """A file whose bytes are not what its path says: truncated, foreign or damaged."""

    def __init__(self, path: str, cause: str, advice: str = "restore the file from a backup, or roll back past it"):
        path = without_secrets(path)  # the error's own text is not all that shows it
        super().__init__(path, cause, advice)  # what a copy is made of
        self.path, self.cause, self.advice = path, cause, advice

    def __str__(self) -> str:
        return without_secrets(f"File {self.path} is corrupt: {self.cause}; {self.advice}.")


class UnsupportedVersionError(CorruptFileError):
    """A file written by a newer version of the format."""


class StorageError(PaimonError, OSError):
    """The storage refused or failed."""


class StorageRefusedError(StorageError):
    """The storage refused: what was asked did not happen, and asking again soon does not help."""


class NotAllowedError(PaimonError):
    """The table names a file or an address outside of it that its catalog does not let it reach."""


class NoPrivilegeError(PaimonError):
    """The user of the catalog lacks a privilege, or is not known there under this password."""


class UnsafeStorageError(PaimonError):
    """The storage has no atomic create and the catalog has no lock."""


class CommitConflictError(PaimonError):
    """Another commit changed what this one is based on."""


class BucketConflictError(CommitConflictError):
    """Another commit gave new keys their buckets; those of this one can be looked up again."""


class AlreadyCommittedError(PaimonError):
    """A commit that is made once was made before: nothing of this try is visible, and nothing is missing."""


class CommitUnknownError(PaimonError):
    """The outcome of a publish call could not be established; the commit may or may not be visible."""


class InternalError(PaimonError):
    """A fault of this library, not of a statement, a table or a storage."""

    @classmethod
    def of(cls, error: Exception) -> InternalError:
        """An unexpected exception as users see it; it carries the stack trace as a note."""
        made = cls(
            f"Unexpected {type(error).__name__}: {error}. This is a fault of paimon-sql: please report it with the "
            "stack trace."
        )
        made.add_note("".join(traceback.format_exception(error)))
        return made


def reason(error: Exception) -> str:
    """What an exception of a library says, for a message of ours: its class stands for it where it says nothing."""
    return f"there is no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
