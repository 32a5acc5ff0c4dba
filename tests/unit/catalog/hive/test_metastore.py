"""Calls to a metastore that is down, late, of another version, or none: servers of this process stand for it."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import PaimonError, StorageError, UnsupportedFeatureError
from tests.support.certificates import self_signed
from tests.support.lossy_proxy import LossyProxy
from tests.support.sql_servers import free_port
from tests.support.waiting import PATIENCE, wait_until

pytest.importorskip("pymetastore", reason='needs pip install "paimon-sql[hive]"')

from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol import TBinaryProtocol
from thrift.Thrift import TApplicationException
from thrift.transport import TSocket, TTransport

from paimon_sql.catalog.hive.failures import Answer, MetastoreError
from paimon_sql.catalog.hive.metastore import Metastore
from paimon_sql.catalog.hive.settings import read_settings
from paimon_sql.catalog.outcomes import OutcomeUnknown


class Handler:
    """A metastore with one table, which knows the calls of Hive 4.0.1, or of an old one."""

    def __init__(self, *, is_old: bool = False) -> None:
        self.is_old, self.calls, self.users = is_old, list[str](), list[str]()
        self.may_answer, self.has_answered = threading.Event(), threading.Event()
        self.may_answer.set()

    def set_ugi(self, user: str, groups: list[str]) -> list[str]:
        self.users.append(user)
        return groups

    def get_all_databases(self) -> list[str]:
        self.calls.append("get_all_databases")
        self.may_answer.wait(PATIENCE)
        self.has_answered.set()
        return ["default", "ö"]

    def get_table_req(self, request: Any) -> Any:
        self._only(not self.is_old, "get_table_req")
        return ttypes.GetTableResult(table=self._table(request.tblName))

    def get_table(self, database: str, name: str) -> Any:
        self._only(self.is_old, "get_table")
        return self._table(name)

    def create_database(self, database: Any) -> None:
        self.calls.append("create_database")

    def drop_table(self, database: str, name: str, delete: bool) -> None:
        raise ttypes.MetaException("x" * 5000 + "\nsecond line")

    def alter_table_with_environment_context(self, database: str, name: str, table: Any, context: Any) -> None:
        self.calls.append(str(sorted(context.properties.items())))
        raise ttypes.InvalidOperationException("new table db.u already exists")

    def _only(self, condition: bool, call: str) -> None:
        self.calls.append(call)
        if not condition:
            raise TApplicationException(TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{call}'")

    def _table(self, name: str) -> Any:
        if name != "t":
            raise ttypes.NoSuchObjectException("db.x table not found")
        return ttypes.Table(tableName=name)


@contextmanager
def serving(handler: Handler) -> Iterator[int]:
    """A server of a handler; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    processor = ThriftHiveMetastore.Processor(handler)

    def answer(client: socket.socket) -> None:
        bare = TSocket.TSocket()
        bare.setHandle(client)
        protocol = TBinaryProtocol.TBinaryProtocol(TTransport.TBufferedTransport(bare))
        with client, suppress(Exception):
            while True:
                processor.process(protocol, protocol)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


@contextmanager
def saying(answer: bytes | None) -> Iterator[int]:
    """A server that is no metastore: it says the same to everybody and closes, or with None nothing at all."""
    listener = socket.create_server(("127.0.0.1", 0))
    held = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                held.append(client)
                if answer is not None:
                    client.recv(2**16)
                    client.sendall(answer)
                    client.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
        for client in held:
            client.close()


def metastore(*ports: int, **more: str) -> Metastore:
    uri = ",".join(f"thrift://127.0.0.1:{port}" for port in ports)
    return Metastore(read_settings({"uri": uri, **{k.replace("__", "."): v for k, v in more.items()}}, locks=False))


QUICK = {"hive__metastore__client__connection__timeout": "300ms", "hive__metastore__client__socket__timeout": "300ms"}


def test_calls() -> None:
    handler = Handler()
    with serving(handler) as port:
        meta = metastore(port)
        assert meta.databases() == ["default", "ö"]
        assert meta.table("db", "t").tableName == "t" and meta.table("db", "x") is None
        assert len(handler.users) == 1  # one connection
        meta.close()
        with pytest.raises(MetastoreError, match=r"answered drop_table with an error: x{500}…\.") as caught:
            meta.change("drop_table", "db", "t", False)
        assert caught.value.answer is Answer.FAILED
        with pytest.raises(MetastoreError) as caught:
            meta.alter_table("db", "t", ttypes.Table())
        assert caught.value.answer is Answer.TAKEN
        assert handler.calls[-1] == "[('CASCADE', 'true'), ('DO_NOT_UPDATE_STATS', 'false')]"
        meta.close()


def test_an_old_metastore_is_asked_once_for_what_it_does_not_have() -> None:
    handler = Handler(is_old=True)
    with serving(handler) as port:
        meta = metastore(port)
        assert [meta.table("db", name) is None for name in ("t", "x", "t")] == [False, True, False]
        assert handler.calls == ["get_table_req", "get_table", "get_table", "get_table"]
        meta.close()


def test_the_first_of_several_addresses_that_answers() -> None:
    handler = Handler()
    with serving(handler) as port:
        meta = metastore(free_port(), free_port(), port)
        assert meta.databases() == ["default", "ö"]
        meta.close()


def test_nobody_answers() -> None:
    one, other = free_port(), free_port()
    with pytest.raises(StorageError, match=f"cannot be reached: .*{one}: Connection refused; .*{other}: Conn.*'uri'"):
        metastore(one, other).databases()
    with pytest.raises(StorageError, match=r"nowhere\.invalid"):
        Metastore(read_settings({"uri": "thrift://nowhere.invalid"}, locks=False)).databases()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        b"",
        b"\x80\x01\x00\x02\x00\x00\x00\x07set_ugi\x00\x00\x00\x00\x0f\x00\x00\x0b\x7f\xff\xff\xff",
        b"\x80\x01\x00\x02" + struct.pack(">i", 2**31 - 1),
        b"\x80\x01\x00\x02\x00\x00\x00\x01\xff",
        bytes(range(256)),
    ],
)
def test_a_server_that_is_no_metastore(answer: bytes) -> None:
    with saying(answer) as port, pytest.raises(StorageError, match="cannot be reached") as caught:
        metastore(port, **QUICK).databases()
    assert isinstance(caught.value, PaimonError) and len(str(caught.value)) < 500


def test_a_server_that_says_nothing() -> None:
    with saying(None) as port, pytest.raises(StorageError, match="no answer in time"):
        metastore(port, **QUICK).databases()


def test_a_late_answer_is_not_taken_for_the_next_one() -> None:
    handler = Handler()
    with serving(handler) as port:
        meta = metastore(port, hive__metastore__client__socket__timeout="2s")
        assert meta.databases()
        handler.may_answer.clear()
        handler.has_answered.clear()
        with pytest.raises(StorageError, match="did not answer get_all_databases: no answer in time"):
            meta.databases()
        handler.may_answer.set()
        assert handler.has_answered.wait(PATIENCE)
        assert meta.table("db", "t").tableName == "t"
        assert handler.calls.count("get_all_databases") == 2  # what is late is not asked for again
        meta.close()


def test_a_lost_answer() -> None:
    """What reads is asked again, what changes is looked up."""
    handler = Handler()
    with serving(handler) as port:
        proxy = LossyProxy(port, b"get_all_databases", lose=2)
        meta = metastore(proxy.port)
        assert meta.databases() == ["default", "ö"] and handler.calls.count("get_all_databases") == 3
        proxy.close()
        proxy = LossyProxy(port, b"create_database")
        meta = metastore(proxy.port)
        with pytest.raises(OutcomeUnknown, match="did not answer create_database: it closed the connection"):
            meta.change("create_database", ttypes.Database(name="x"))
        assert handler.calls.count("create_database") == 1
        meta.close()
        proxy.close()


def test_an_idle_connection_that_the_server_closed_costs_nothing() -> None:
    handler = Handler()
    with serving(handler) as port:
        meta = metastore(port)
        meta.databases()
        held = meta._idle[0]
        held._handle.shutdown(socket.SHUT_RDWR)
        meta.change("create_database", ttypes.Database(name="x"))
        assert handler.calls.count("create_database") == 1
        meta.close()


def test_connections_are_kept_for_as_many_threads_as_the_pool_has() -> None:
    handler = Handler()
    handler.may_answer.clear()
    with serving(handler) as port:
        meta = metastore(port, **{"client-pool-size": "2"})
        threads = [threading.Thread(target=meta.databases) for _ in range(6)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(handler.calls) >= 2)
        handler.may_answer.set()
        for thread in threads:
            thread.join()
        assert len(meta._idle) == 2 and len(handler.calls) == 6
        meta.close()
        assert meta._idle == []


def test_kerberos_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": "hive/_HOST@LAKE",
    }
    monkeypatch.setitem(__import__("sys").modules, "gssapi", None)
    with (
        serving(Handler()) as port,
        pytest.raises(UnsupportedFeatureError, match=r"gssapi.*paimon-sql\[hive-kerberos\]"),
    ):
        Metastore(read_settings({"uri": f"thrift://127.0.0.1:{port}", **given}, locks=False)).databases()


@contextmanager
def shaking_hands(folder: Path) -> Iterator[tuple[int, Path]]:
    """A port behind TLS, where connections end after the handshake, and its certificate."""
    certificate, key = self_signed(folder, "DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    taken, _ = server.accept()
                    with suppress(OSError), taken, context.wrap_socket(taken, server_side=True):
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], certificate
        server.shutdown(socket.SHUT_RDWR)
    thread.join(PATIENCE)


def test_certificates_and_their_names_are_verified(tmp_path: Path) -> None:
    with shaking_hands(tmp_path) as (port, certificate):

        def failure(host: str, **more: str) -> str:
            given = {"uri": f"thrift://{host}:{port}", "hive.metastore.use.SSL": "true", **more}
            with pytest.raises(StorageError) as caught:
                Metastore(read_settings(given, locks=False)).databases()
            return str(caught.value)

        trusted = {"hive.metastore.truststore.path": str(certificate)}
        assert "certificate" in failure("localhost")
        assert "certificate" in failure("127.0.0.1", **trusted)
        assert "certificate" not in failure("localhost", **trusted)
