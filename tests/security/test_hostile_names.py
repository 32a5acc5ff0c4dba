"""Hostile names in every position: one that is accepted is that name and no other, one that is refused has a typed
error, and nothing outside of the warehouse is read, written or deleted for either.

A part of the names here, another at each position; all with `PAIMON_SQL_HOSTILE_NAMES=all`.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from paimon_core.errors import InvalidDataError, InvalidNameError, InvalidSchemaError, PaimonError
from paimon_core.store.ddl.schema_changes import UpdateColumnComment, UpdateComment
from tests.security.positions import FOLDERS, POSITIONS, Place
from tests.support.hostile_names import HOSTILE_NAMES, SPELLABLE_NAMES, some
from tests.support.watched import Watch


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Watch(tmp_path))


def test_there_are_200_names() -> None:
    assert len(set(HOSTILE_NAMES)) == len(HOSTILE_NAMES) >= 200
    turns = [name for position in range(200) for name in some(HOSTILE_NAMES, position)]
    assert set(turns) == set(HOSTILE_NAMES)


@pytest.mark.parametrize("position", POSITIONS)
def test_names(place: Place, position: str) -> None:
    """All that are accepted stand beside each other, and each goes alone."""
    at, accepted = POSITIONS[position], []
    with place.watch.audited() as reached:
        for name in some(HOSTILE_NAMES, position):
            try:
                at.make(place, name)
            except PaimonError as error:
                refusals = (InvalidNameError,) if position in FOLDERS else (InvalidDataError, InvalidSchemaError)
                assert isinstance(error, refusals), (name, error)
            else:
                accepted.append(name)
        assert accepted and sorted(at.names(place)) == sorted(accepted)
        for name in accepted if at.drop else ():
            at.drop(place, name)
            accepted = [other for other in accepted if other != name]
            assert sorted(at.names(place)) == sorted(accepted), name
    assert reached == [] and place.watch.escaped() == []


def test_comments(place: Place) -> None:
    for name in some(SPELLABLE_NAMES, "comment"):
        place.alter(UpdateComment(name), UpdateColumnComment(("k",), name))
        assert (place.table.schema.comment, place.table.schema.fields[0].description) == (name, name)
    assert place.watch.escaped() == []


def test_the_watch_asks_its_own_threads_alone(place: Place) -> None:
    begin = threading.Event()

    def connect(port: int) -> None:
        begin.wait()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=5)

    def thread(port: int) -> threading.Thread:
        started = threading.Thread(target=connect, args=(port,))
        started.start()
        return started

    other = thread(1)
    with place.watch.audited() as reached:
        own = thread(2)
        begin.set()
        own.join()
        other.join()
    assert len(reached) == 1 and "('127.0.0.1', 2)" in reached[0]
