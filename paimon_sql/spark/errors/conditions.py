"""The error conditions of this package's errors: their names, SQL states, and the parameters that Spark needs for their
messages.

Spark makes the text of `getMessage()` from a condition's template and parameters. Spark's own conditions get the
parameters of their templates. This package adds its own conditions to Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimon_core.errors import (
    AlreadyExistsError,
    ColumnNotFoundError,
    CommitConflictError,
    CommitUnknownError,
    CorruptFileError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    DataFileMissingError,
    FunctionExistsError,
    FunctionNotFoundError,
    InternalError,
    InvalidDataError,
    InvalidNameError,
    InvalidOptionError,
    InvalidSchemaError,
    MetadataMissingError,
    NoPrivilegeError,
    NotAllowedError,
    NotFoundError,
    NullValueError,
    PaimonError,
    SeveralMatchesError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnfamiliarFormError,
    UnreadableFileError,
    UnsafeStorageError,
    UnsupportedFeatureError,
    UnsupportedVersionError,
    ViewExistsError,
    ViewNotFoundError,
)
from paimon_sql.spark.jvm.exceptions import add_conditions, template_parameters
from paimon_sql.spark.jvm.gateway import Jvm

# conditions of Spark's documentation, which users search for
SPARKS: Mapping[type[PaimonError], str] = {
    TableNotFoundError: "TABLE_OR_VIEW_NOT_FOUND",
    DatabaseNotFoundError: "SCHEMA_NOT_FOUND",
    ViewNotFoundError: "VIEW_NOT_FOUND",
    ViewExistsError: "TABLE_OR_VIEW_ALREADY_EXISTS",
    TableExistsError: "TABLE_OR_VIEW_ALREADY_EXISTS",
    DatabaseExistsError: "SCHEMA_ALREADY_EXISTS",
    ColumnNotFoundError: "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    FunctionNotFoundError: "UNRESOLVED_ROUTINE",
    FunctionExistsError: "ROUTINE_ALREADY_EXISTS",
    DatabaseNotEmptyError: "SCHEMA_NOT_EMPTY",
    InternalError: "INTERNAL_ERROR",
    NullValueError: "NOT_NULL_ASSERT_VIOLATION",
    SeveralMatchesError: "MERGE_CARDINALITY_VIOLATION",
}
# this package's conditions with their SQL states; a subclass comes before its base class
OURS: Mapping[type[PaimonError], tuple[str, str]] = {
    InvalidNameError: ("PAIMON_INVALID_NAME", "42602"),
    InvalidSchemaError: ("PAIMON_INVALID_SCHEMA", "42611"),
    InvalidOptionError: ("PAIMON_INVALID_OPTION", "22023"),
    InvalidDataError: ("PAIMON_INVALID_DATA", "22000"),
    UnsupportedFeatureError: ("PAIMON_UNSUPPORTED_FEATURE", "0A000"),
    NotAllowedError: ("PAIMON_NOT_ALLOWED", "42501"),
    NoPrivilegeError: ("PAIMON_NO_PRIVILEGE", "42501"),
    UnsafeStorageError: ("PAIMON_UNSAFE_STORAGE", "0A000"),
    DataFileMissingError: ("PAIMON_DATA_FILE_MISSING", "58030"),
    NotFoundError: ("PAIMON_NOT_FOUND", "42704"),
    AlreadyExistsError: ("PAIMON_ALREADY_EXISTS", "42710"),
    UnsupportedVersionError: ("PAIMON_UNSUPPORTED_VERSION", "0A000"),
    UnfamiliarFormError: ("PAIMON_UNFAMILIAR_FORM", "0A000"),
    MetadataMissingError: ("PAIMON_METADATA_MISSING", "58030"),
    CorruptFileError: ("PAIMON_CORRUPT_FILE", "XX001"),
    UnreadableFileError: ("PAIMON_UNREADABLE_FILE", "58030"),
    StorageError: ("PAIMON_STORAGE_FAILURE", "58030"),
    CommitConflictError: ("PAIMON_COMMIT_CONFLICT", "40001"),
    CommitUnknownError: ("PAIMON_COMMIT_UNKNOWN", "40003"),
    PaimonError: ("PAIMON_ERROR", "58000"),
}
_NAMED = re.compile(r"'([^']+)'|\b(?:[Tt]able|[Vv]iew|[Dd]atabase|[Ff]unction) (\S*\w)")


def condition_of(kind: type[PaimonError]) -> str:
    """Return the error condition of a class of errors."""
    for known, condition in SPARKS.items():
        if issubclass(kind, known):
            return condition
    return next(name for known, (name, _) in OURS.items() if issubclass(kind, known))


def install_conditions(jvm: Jvm) -> None:
    """Add this package's conditions to Spark, once. Call it with the first error, not earlier: it makes Spark read all
    of its own conditions.
    """
    if template_parameters(jvm, condition_of(PaimonError)) is None:
        add_conditions(jvm, dict(OURS.values()))


def parameters(jvm: Jvm, condition: str, message: str) -> dict[str, str]:
    """Return the values for the template of a condition; a template of this package takes the whole message."""
    asked = template_parameters(jvm, condition) or ()
    named = _NAMED.search(message)
    thing = (named[1] or named[2]) if named else message
    of_template = {"message": message, "searchPath": "", "proposal": "", "walkedTypePath": f"\n{thing}\n"}
    of_template |= dict.fromkeys(("newRoutineType", "existingRoutineType"), "function")
    return {name: of_template.get(name, f"`{thing}`") for name in asked}
