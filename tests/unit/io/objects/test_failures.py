"""Each mistake has its own text, with the remedy and without a secret."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from paimon_core.errors import StorageError, StorageRefusedError
from paimon_core.io.load import load_file_io
from paimon_core.io.objects import clients
from paimon_core.io.objects.failures import failure_of
from tests.support.object_server import Answer, object_server

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
PATH = "s3://lake/wh/file"
OPTIONS = {"s3.access-key": "hunter1", "s3.secret-key": "hunter2", "s3.region": "us-east-1"}
CALLS: list[Callable[[Any], object]] = [
    lambda io: io.read_bytes(PATH),
    lambda io: io.exists(PATH),
    lambda io: io.list(PATH),
    lambda io: io.write_bytes(PATH, b"1"),
    lambda io: io.create_exclusive(PATH, b"1"),
    lambda io: io.open_input(PATH),
]


def error_of(options: dict[str, str], call: Callable[[Any], object]) -> StorageError:
    with pytest.raises(StorageError) as caught:
        call(load_file_io(PATH, {**OPTIONS, **options}))
    assert "hunter" not in f"{caught.value} {caught.value.__cause__}"
    return caught.value


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("answer", "cause", "remedy"),
    [
        (Answer(403, "InvalidAccessKeyId"), "does not have this access key", "s3.access-key"),
        (Answer(403, "SignatureDoesNotMatch", "hunter2"), "secret key does not belong", "s3.secret-key"),
        (Answer(403, "RequestTimeTooSkewed"), "the clock of this machine", "set the clock"),
        (Answer(400, "ExpiredToken"), "credentials have expired", "get new ones"),
        (Answer(403, "AccessDenied"), "permission is denied", "grant this user access"),
        (Answer(400, "AuthorizationHeaderMalformed"), "in another region", r"s3\.endpoint\.region"),
        (Answer(404, "NoSuchBucket"), "no bucket with this name", "correct the location"),
        (Answer(403), "permission is denied", "grant this user access"),
    ],
)
def test_answers_of_a_server(answer: Answer, cause: str, remedy: str, call: Callable[[Any], object]) -> None:
    with object_server(fault=lambda request: answer) as server:
        error = error_of({"s3.endpoint": server.endpoint}, call)
    assert isinstance(error, StorageRefusedError)
    assert error.args and pytest.importorskip("re").search(f"{cause}.*{remedy}", str(error)), error


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Generic S3 error: DeleteObjects request failed for key wh/file: Denied. (code: AccessDenied)",
            " (AccessDenied)",
        ),
        ("Generic MicrosoftAzure error: Bulk delete request failed for key wh/file: No. (code: 403)", ""),
    ],
)
def test_a_refusal_of_one_of_many_deletes(text: str, code: str) -> None:
    error = failure_of("delete", PATH, OSError(text), OPTIONS)
    assert str(error) == (
        f"Cannot delete {PATH}: permission is denied{code}; grant this user access to it, or use other keys."
    )


@pytest.mark.parametrize("call", CALLS)
def test_no_server(call: Callable[[Any], object]) -> None:
    error = error_of({"s3.endpoint": "http://127.0.0.1:1"}, call)
    assert "no server listens there: http://127.0.0.1:1; correct the endpoint" in str(error)
    error = error_of({"s3.endpoint": "http://nosuch.invalid"}, call)
    assert "no host with this name: http://nosuch.invalid; correct the endpoint" in str(error)


@pytest.mark.parametrize("call", CALLS)
def test_a_server_without_tls(call: Callable[[Any], object]) -> None:
    with object_server() as server:
        error = error_of({"s3.endpoint": server.endpoint.removeprefix("http://")}, call)
    assert "does not speak TLS" in str(error) and "write http://" in str(error)


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request is made once, so that the error comes in seconds."""
    assert (clients._CONNECT, clients._FIRST_READ) == ("5s", "7s")
    monkeypatch.setattr(clients, "_FIRST_READ", "200ms")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for call in CALLS:
            error = error_of({"s3.endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}"}, call)
            assert "the server does not answer" in str(error) and not isinstance(error, StorageRefusedError)
