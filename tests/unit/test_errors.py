from __future__ import annotations

import inspect
import pickle
import re

import pytest

from paimon_core import errors
from paimon_core.errors import (
    CorruptFileError,
    InvalidOptionError,
    NotFoundError,
    PaimonError,
    StorageError,
    UnsupportedVersionError,
)

ALL = [e for e in vars(errors).values() if inspect.isclass(e)]


def drawn_tree() -> dict[str, str]:
    """Each class of the tree in the module's docstring, and the one above it."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"((?:│   |    )*)(?:├── |└── )?((?:\w+Error(?: \(\w+\))?,? ?)+)", line)
        if match and (line.startswith("PaimonError") or "── " in line):
            depth = len(match[1]) // 4 + ("── " in line)
            for name in re.findall(r"\b\w+Error\b(?!\))", match[2]):
                path[depth:] = [name]
                parents[name] = path[depth - 1] if depth else ""
    return parents


def test_the_tree_is_as_drawn() -> None:
    tree = {e.__name__: next(b.__name__ for b in e.__bases__) for e in ALL if e is not PaimonError}
    assert drawn_tree() == tree | {"PaimonError": ""}


@pytest.mark.parametrize("error", ALL, ids=lambda e: e.__name__)
def test_every_error_has_the_one_root_and_says_what_it_means(error: type[PaimonError]) -> None:
    assert issubclass(error, PaimonError)
    assert (error.__doc__ or "").endswith(".")


def test_errors_are_also_what_python_calls_them() -> None:
    assert issubclass(InvalidOptionError, ValueError)
    assert issubclass(NotFoundError, LookupError)
    assert issubclass(StorageError, OSError)


def test_a_corrupt_file_is_named_with_cause_and_advice() -> None:
    error = CorruptFileError("t/snapshot/snapshot-1", "it is no JSON")
    assert (error.path, error.cause) == ("t/snapshot/snapshot-1", "it is no JSON")
    assert str(error) == (
        "File t/snapshot/snapshot-1 is corrupt: it is no JSON; restore the file from a backup, or roll back past it."
    )
    newer = UnsupportedVersionError("p", "it has version 9", "upgrade paimon-sql")
    assert str(newer) == "File p is corrupt: it has version 9; upgrade paimon-sql."


@pytest.mark.parametrize("error", ALL, ids=lambda e: e.__name__)
def test_errors_travel_between_processes(error: type[PaimonError]) -> None:
    made = error("p", "cause", "advice") if issubclass(error, CorruptFileError) else error("what is wrong")
    back = pickle.loads(pickle.dumps(made))  # noqa: S301  our own bytes
    assert type(back) is error
    assert str(back) == str(made)
