"""The negotiation of Kerberos with servers that follow a script; `make campaign NAME=kerberos` has real ones."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import PaimonError, StorageRefusedError

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from thrift.transport import TSocket
from thrift.transport.TTransport import TTransportException

from paimon_sql.catalog.hive.kerberos import ProtectedTransport, Unauthenticated, protected
from paimon_sql.catalog.hive.settings import Address

ADDRESS = Address("Meta", 9083)
PRINCIPAL = "hive/_HOST@LAKE"
OK, BAD, COMPLETE = 2, 3, 5


class GSSError(Exception):
    min_code = 7

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        return [str(self)]


class MissingCredentialsError(GSSError):
    pass


class ExpiredCredentialsError(GSSError):
    pass


class Context:
    """Signs by a word before what is said, and encrypts by turning it around."""

    def __init__(self, name: Any, **_: object) -> None:
        self.name, self.complete = name, False

    def step(self, token: bytes = b"") -> bytes | None:
        if token == b"wrong":
            raise GSSError("Ticket \x1b[1mforged")
        self.complete = bool(token)
        return None if token else b"ticket for " + self.name[0].encode()

    def wrap(self, data: bytes, encrypt: bool) -> Any:
        return SimpleNamespace(message=b"!" + data[::-1] if encrypt else b"." + data)

    def unwrap(self, data: bytes) -> Any:
        encrypted = data[:1] == b"!"
        return SimpleNamespace(message=data[:0:-1] if encrypted else data[1:], encrypted=encrypted)

    def get_wrap_size_limit(self, most: int, encrypted: bool) -> int:
        return most - 1


@pytest.fixture
def gssapi(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A library of Kerberos without a KDC; `credentials` is how long the ticket lives, or the error that there is."""
    made = SimpleNamespace(credentials=60)

    def credentials(**_: object) -> Any:
        if isinstance(made.credentials, Exception):
            raise made.credentials
        return SimpleNamespace(lifetime=made.credentials)

    flags = ("mutual_authentication", "integrity", "confidentiality", "out_of_sequence_detection")
    made.RequirementFlag = SimpleNamespace(**{name: name for name in flags})
    made.NameType = SimpleNamespace(kerberos_principal="whole", hostbased_service="hosted")
    made.MechType = SimpleNamespace(kerberos="krb5")
    made.Name = lambda *given: given
    made.Credentials, made.SecurityContext = credentials, Context
    made.exceptions = SimpleNamespace(GSSError=GSSError, ExpiredCredentialsError=ExpiredCredentialsError)
    monkeypatch.setitem(sys.modules, "gssapi", made)
    return made


@pytest.fixture
def talk() -> Iterator[Any]:
    """Connects to a server that says some messages, each after one of the client; what it heard."""
    pairs = []

    def connect(*messages: tuple[int, bytes]) -> tuple[Any, list[tuple[int, bytes]], socket.socket]:
        ours, theirs = socket.socketpair()
        pairs.append((ours, theirs))
        heard = list[tuple[int, bytes]]()

        def hear() -> None:
            kind, length = struct.unpack("!BI", theirs.recv(5, socket.MSG_WAITALL))
            heard.append((kind, theirs.recv(length, socket.MSG_WAITALL) if length else b""))

        def serve() -> None:
            with suppress(OSError, struct.error):  # who trusts nobody says no more
                hear()
                for status, body in messages:
                    hear()
                    theirs.sendall(struct.pack("!BI", status, len(body)) + body)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        below = TSocket.TSocket()
        below.setHandle(ours)
        return below, heard, theirs

    yield connect
    for pair in pairs:
        for end in pair:
            end.close()


def offer(bits: int, most: int) -> tuple[int, bytes]:
    return OK, b"." + struct.pack("!I", bits << 24 | most)


Connect = Callable[..., tuple[Any, list[tuple[int, bytes]], socket.socket]]


@pytest.mark.usefixtures("gssapi")
@pytest.mark.parametrize(
    ("bits", "agreed", "said"),
    [(7, b".\x04\xff\xff\xff", b"!cba"), (3, b".\x02\xff\xff\xff", b".abc"), (1, b".\x01\x00\x00\x00", b"abcdefg")],
)
def test_the_strongest_protection_is_agreed_on(talk: Connect, bits: int, agreed: bytes, said: bytes) -> None:
    below, heard, theirs = talk((OK, b"right"), offer(bits, 4), (COMPLETE, b""))
    transport = protected(below, PRINCIPAL, ADDRESS)
    assert heard == [(1, b"GSSAPI"), (OK, b"ticket for hive@meta"), (OK, b""), (OK, agreed)]
    transport.write(b"abcdefg")
    transport.flush()
    assert theirs.recv(4 + len(said), socket.MSG_WAITALL) == struct.pack("!i", len(said)) + said
    theirs.sendall(struct.pack("!i", 0 if bits == 1 else 1) + (b"" if bits == 1 else said[:1]))  # an empty frame
    theirs.sendall(struct.pack("!i", len(said)) + said)
    assert transport.read(2) == b"ab" and transport.read(100) == (b"cdefg" if bits == 1 else b"c")


@pytest.mark.usefixtures("gssapi")
@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([(OK, b"wrong"), (OK, b"")], r"no trust between this process and hive@meta: Ticket \\x1b\[1mforged"),
        ([(OK, b"right"), (BAD, b"no\x1bway\n  in")], r"it refused the ticket for hive@meta: no\\x1bway in"),
        ([(OK, b"right"), (COMPLETE, b"")], "ended the negotiation out of turn"),
        ([(OK, b"right"), (77, b"HTTP")], "not come from a server that asks for Kerberos"),
        ([(OK, b"right"), (OK, b".x")], "its offer does not follow SASL"),
        ([(OK, b"right"), offer(8, 4)], "offers no protection that SASL has"),
        ([(OK, b"right"), offer(4, 0)], "offers no protection that SASL has"),
    ],
)
def test_servers_that_are_not_trusted(talk: Connect, messages: list[tuple[int, bytes]], words: str) -> None:
    below, _, _ = talk(*messages)
    with pytest.raises(Unauthenticated, match=words):
        protected(below, PRINCIPAL, ADDRESS)


@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        (MissingCredentialsError("none"), r"this process has no ticket \(.*forged\)\. Get one with `kinit`"),
        (ExpiredCredentialsError("old"), "ticket has expired"),
        (0, "ticket has expired"),
    ],
)
def test_what_the_user_lacks(gssapi: Any, talk: Connect, credentials: Any, words: str) -> None:
    gssapi.credentials = credentials
    below, _, _ = talk((OK, b"wrong"), (OK, b""))
    with pytest.raises(StorageRefusedError, match=f"metastore thrift://Meta:9083 asks for Kerberos, and .*{words}"):
        protected(below, PRINCIPAL, ADDRESS)


def test_a_principal_is_taken_as_it_is_written(gssapi: Any, talk: Connect) -> None:
    below, heard, _ = talk((OK, b"right"), offer(4, 9), (COMPLETE, b""))
    gssapi.Name = lambda *given: (":".join(given), None)
    protected(below, "hms/Elsewhere@LAKE", ADDRESS)
    assert heard[1] == (OK, b"ticket for hms/Elsewhere@LAKE:whole")


@pytest.mark.parametrize("length", [-1, 2**30])
def test_lengths_that_no_frame_has(length: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        below = TSocket.TSocket()
        below.setHandle(ours)
        theirs.sendall(struct.pack("!i", length))
        with pytest.raises(TTransportException, match="in one piece"):
            ProtectedTransport(below, Context(("x",)), 4, 10).read(1)


def test_a_frame_that_should_be_encrypted() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        below = TSocket.TSocket()
        below.setHandle(ours)
        theirs.sendall(struct.pack("!i", 2) + b".a")
        with pytest.raises(TTransportException, match="not encrypted"):
            ProtectedTransport(below, Context(("x",)), 4, 10).read(1)
    assert not issubclass(Unauthenticated, PaimonError)  # the next address is tried
