"""One connection to a metastore: a socket, below Thrift, encrypted and authenticated as the settings require."""

from __future__ import annotations

import os
import select
import socket
import ssl
from contextlib import suppress
from typing import Any

from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol import TBinaryProtocol, TCompactProtocol
from thrift.transport import TSocket, TTransport

from paimon_sql.catalog.hive.kerberos import protected
from paimon_sql.catalog.hive.settings import Address, HiveSettings

# A longer answer does not come from a metastore.
_MOST_TEXT = 2**28
_MOST_ITEMS = 10**7
_KEEP_ALIVE = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPINTVL": 30,
    "TCP_KEEPCNT": 4,
}  # notices a connection that a firewall has dropped


class Connection:
    """A client of the metastore at an address. Raises the errors of Thrift and of sockets."""

    def __init__(self, address: Address, settings: HiveSettings) -> None:
        self.address, self._process = address, os.getpid()
        self._handle = _connected(address, settings)
        try:
            self.client: Any = self._client(settings)
            if settings.names_user and settings.kerberos_principal is None:
                self.client.set_ugi(settings.user, [settings.user])
        except BaseException:
            self.close()
            raise
        self._handle.settimeout(settings.answer_seconds)

    def _client(self, settings: HiveSettings) -> Any:
        bare = TSocket.TSocket(self.address.host, self.address.port)
        bare.setHandle(self._handle)
        transport = _transport(bare, self.address, settings)
        make = TCompactProtocol.TCompactProtocol if settings.compact else TBinaryProtocol.TBinaryProtocolAccelerated
        limits = {"string_length_limit": _MOST_TEXT, "container_length_limit": _MOST_ITEMS}
        return ThriftHiveMetastore.Client(make(transport, **limits))

    def is_alive(self) -> bool:
        """Return whether the connection is open and idle: the server has neither closed it nor sent an unexpected
        answer.
        """
        if self._process != os.getpid():  # this process is a fork of the connection's process
            return False
        try:
            return not select.select([self._handle], [], [], 0)[0]
        except (OSError, ValueError):
            return False

    def close(self) -> None:
        with suppress(OSError):
            self._handle.close()


def _connected(address: Address, settings: HiveSettings) -> socket.socket:
    """Return a connected socket. Thrift's own socket would log each address without an answer as an error."""
    handle = socket.create_connection((address.host, address.port), settings.connect_seconds)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            handle.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if not settings.tls:
        return handle
    try:
        context = ssl.create_default_context(cafile=settings.certificates)
        return context.wrap_socket(handle, server_hostname=address.host)
    except BaseException:
        handle.close()
        raise


def _transport(bare: Any, address: Address, settings: HiveSettings) -> Any:
    if settings.kerberos_principal is not None:
        return TTransport.TBufferedTransport(protected(bare, settings.kerberos_principal, address))
    return TTransport.TFramedTransport(bare) if settings.framed else TTransport.TBufferedTransport(bare)
