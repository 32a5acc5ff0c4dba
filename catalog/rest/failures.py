"""Translate the refusals of a server into errors of this library.

A server that refuses a request names a status and the kind of object. A server of this project also names the class of
its error, so that the client raises the same error. After a lost answer, the request may have taken effect.

Source: `ErrorResponse` of the API; `DefaultErrorHandler` of Paimon.
"""

from __future__ import annotations

from paimon_core import errors
from paimon_core.errors import PaimonError, StorageRefusedError

KIND = "errorClass"  # our server names the class in this member of an error's JSON
# Classes of errors that a client raises because a server requires it.
_KINDS: dict[str, type[PaimonError]] = {
    kind.__name__: kind
    for kind in (
        *(errors.InvalidNameError, errors.InvalidSchemaError, errors.InvalidOptionError, errors.InvalidDataError),
        *(errors.UnsupportedFeatureError, errors.DatabaseNotFoundError, errors.TableNotFoundError),
        *(errors.BranchNotFoundError, errors.ViewNotFoundError, errors.SnapshotNotFoundError),
        *(errors.TagNotFoundError, errors.SchemaNotFoundError, errors.ConsumerNotFoundError),
        *(errors.DatabaseExistsError, errors.TableExistsError, errors.ViewExistsError, errors.TagExistsError),
        *(errors.FunctionNotFoundError, errors.FunctionExistsError),
        *(errors.BranchExistsError, errors.DatabaseNotEmptyError, errors.CommitConflictError),
        *(errors.NotAllowedError, errors.StorageRefusedError),
    )
}
NOT_FOUND: dict[str, type[PaimonError]] = {  # each class comes before its base class
    "DATABASE": errors.DatabaseNotFoundError,
    "BRANCH": errors.BranchNotFoundError,
    "TABLE": errors.TableNotFoundError,
    "VIEW": errors.ViewNotFoundError,
    "FUNCTION": errors.FunctionNotFoundError,
    "TAG": errors.TagNotFoundError,
    "SNAPSHOT": errors.SnapshotNotFoundError,
    "COLUMN": errors.InvalidSchemaError,
}
EXISTS: dict[str, type[PaimonError]] = {
    "DATABASE": errors.DatabaseExistsError,
    "TABLE": errors.TableExistsError,
    "VIEW": errors.ViewExistsError,
    "FUNCTION": errors.FunctionExistsError,
    "BRANCH": errors.BranchExistsError,
    "TAG": errors.TagExistsError,
    "COLUMN": errors.InvalidSchemaError,
}


class Refused(StorageRefusedError):
    """A server refused a request. `resource` is the kind of object, `said` is the server's message, and `kind` is the
    class of its error if the server is one of this project."""

    def __init__(self, message: str, status: int, resource: str = "", said: str = "", kind: str = ""):
        super().__init__(message)
        self.status, self.resource, self.said, self.kind = status, resource, said, kind

    def as_error(self) -> PaimonError:
        """Return this error as an instance of a class of this library, or itself if no class fits."""
        named = _KINDS.get(self.kind)
        if named is not None:
            return named(self.said)
        if self.status == 404 and self.resource in NOT_FOUND:
            return NOT_FOUND[self.resource](str(self))
        if self.status == 409 and self.resource in EXISTS:
            return EXISTS[self.resource](str(self))
        if self.status == 400:
            return errors.InvalidOptionError(str(self))
        if self.status in (405, 501):
            return errors.UnsupportedFeatureError(str(self))
        return self
