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
    UnfamiliarFormError,
    UnreadableFileError,
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


UNDERSTOOD_BY_OTHERS = [UnsupportedVersionError, UnfamiliarFormError]


@pytest.mark.parametrize("kind", UNDERSTOOD_BY_OTHERS)
def test_a_healthy_file_is_not_called_corrupt(kind: type[UnreadableFileError]) -> None:
    error = kind("t/snapshot/snapshot-1", "it has snapshot version 9", writer="paimon-rust 0.9")
    assert not isinstance(error, CorruptFileError)
    for part in (
        "t/snapshot/snapshot-1",
        "it has snapshot version 9",
        "written by paimon-rust 0.9",
        "left as it is",
        "upgrade paimon-sql",
        "issue tracker",
    ):
        assert part in str(error)
    for word in ("corrupt", "restore", "backup", "damaged"):
        assert word not in str(error)


def test_the_text_without_a_writer_names_none() -> None:
    assert "written by" not in str(UnfamiliarFormError("p", "its union has three branches"))


@pytest.mark.parametrize("kind", [CorruptFileError, *UNDERSTOOD_BY_OTHERS])
def test_a_changed_error_keeps_the_rest(kind: type[UnreadableFileError]) -> None:
    error = kind("p", "cause", "advice", "writer").changed(path="q")
    assert (type(error), error.path, error.cause, error.advice, error.writer) == (
        kind,
        "q",
        "cause",
        "advice",
        "writer",
    )


@pytest.mark.parametrize("error", ALL, ids=lambda e: e.__name__)
def test_errors_travel_between_processes(error: type[PaimonError]) -> None:
    made = error("p", "cause", "advice", "writer") if issubclass(error, UnreadableFileError) else error("what is wrong")
    back = pickle.loads(pickle.dumps(made))  # noqa: S301  our own bytes
    assert type(back) is error
    assert str(back) == str(made)
