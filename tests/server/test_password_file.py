"""How HiveServer2 asks the file of users, in the JVM of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from paimon_sql.server.passwords import set_password
from paimon_sql.spark.jvm.gateway import Jvm, jvm_of

pytestmark = pytest.mark.spark

LogIn = Callable[[str, str], bool]


@pytest.fixture
def jvm(spark: Any) -> Jvm:
    return jvm_of(spark.sparkContext)


@pytest.fixture
def users(tmp_path: Path, jvm: Jvm) -> Iterator[Path]:
    """A file of users, which the JVM reads."""
    properties = jvm.java_class("java.lang.System")
    properties.setProperty("paimon_sql.users", str(tmp_path / "users"))
    yield tmp_path / "users"
    properties.clearProperty("paimon_sql.users")


@pytest.fixture
def log_in(jvm: Jvm) -> LogIn:
    file = jvm.compiled("PasswordFile")

    def ask(user: str, password: str) -> bool:
        try:
            file.Authenticate(user, password)
        except Py4JJavaError as error:
            assert "AuthenticationException" in str(error.java_exception)
            return False
        return True

    return ask


@contextmanager
def without_hashes(jvm: Jvm) -> Iterator[None]:
    """The JVM without the library that hashes passwords."""
    security = jvm.java_class("java.security.Security")
    provider = security.getProvider("SunJCE")
    place = 1 + [p.getName() for p in security.getProviders()].index("SunJCE")
    security.removeProvider("SunJCE")
    try:
        yield
    finally:
        security.insertProviderAt(provider, place)


def test_a_password_is_right_until_it_is_changed(users: Path, log_in: LogIn) -> None:
    set_password(users, "ann", "first")
    for _ in range(2):
        assert log_in("ann", "first") and not log_in("ann", "second") and not log_in("bob", "first")
    set_password(users, "ann", "second")
    assert log_in("ann", "second") and not log_in("ann", "first")
    set_password(users, "bob", "first")
    users.write_text("".join(line for line in users.open() if not line.startswith("ann:")))
    assert log_in("bob", "first") and not log_in("ann", "second")


def test_who_guesses_slows_himself_down(users: Path, log_in: LogIn, jvm: Jvm) -> None:
    file = jvm.compiled("PasswordFile")
    set_password(users, "other", "right")
    for number in range(5):  # a pause may be over before its end is asked for, on a slow machine
        user = f"guessed {number}"
        set_password(users, user, "right")
        for wrong in range(3):
            assert not log_in(user, f"wrong {wrong}")
        if not log_in(user, "right"):
            break
    else:
        raise AssertionError("passwords are guessed without a pause")
    assert log_in("other", "right"), "another user at the same address"
    file.cameFrom("another address")
    try:
        assert log_in(user, "right")
    finally:
        file.cameFrom(None)
    assert log_in(user, "right"), "a password that was right is remembered, wherever it comes from"


def test_who_guesses_does_not_learn_who_is_a_user(users: Path, jvm: Jvm) -> None:
    """Guesses of names that are not users' pause together: the pause has the words of a wrong password."""
    file = jvm.compiled("PasswordFile")
    set_password(users, "ann", "right")

    def words(user: str) -> str:
        with pytest.raises(Py4JJavaError) as refused:
            file.Authenticate(user, "wrong")
        return str(refused.value.java_exception.getMessage())

    file.cameFrom("an address that guesses names")
    try:
        strangers = {words(f"nobody {number}") for number in range(5)}
        assert {words("ann")} == strangers
    finally:
        file.cameFrom(None)


def test_every_refusal_takes_as_long(users: Path, log_in: LogIn, jvm: Jvm) -> None:
    """A hash, a pause and an unknown name take different times: a client sees none of them."""
    file = jvm.compiled("PasswordFile")
    set_password(users, "ann", "right")
    file.cameFrom("an address that measures")
    try:
        for user in ("ann", "nobody", "ann", "nobody", "ann", "nobody", "ann", "nobody"):
            began = time.monotonic()
            assert not log_in(user, "wrong")
            assert time.monotonic() - began >= 1, "less than the time of a refusal"
    finally:
        file.cameFrom(None)


def test_a_password_that_was_right_is_not_hashed_again(users: Path, log_in: LogIn, jvm: Jvm) -> None:
    set_password(users, "ann", "right")
    assert log_in("ann", "right")
    with without_hashes(jvm):
        assert log_in("ann", "right")
        assert not log_in("ann", "wrong"), "which has to be hashed, and cannot be"
