"""Kerberos below Thrift: the SASL mechanism GSSAPI (RFC 4752), in the messages that a Hive metastore expects.

The metastore offers protections for the messages (its `hadoop.rpc.protection`): the strongest is chosen.
"""

from __future__ import annotations

import struct
from typing import Any

from thrift.transport import TTransport

from paimon_core.errors import StorageRefusedError
from paimon_core.escapes import visible
from paimon_core.optional_packages import import_optional
from paimon_sql.catalog.hive.settings import Address, kerberos_service

_START, _OK, _BAD, _ERROR, _COMPLETE = 1, 2, 3, 4, 5  # the status of a message of the negotiation
_UNPROTECTED, _SIGNED, _ENCRYPTED = 1, 2, 4  # bits of the offered protections
_LONGEST_MESSAGE = 2**20  # of a negotiation
_LONGEST_FRAME = 2**28
_MOST_RECEIVED = 2**24 - 1  # the largest number in three bytes


class Unauthenticated(Exception):
    """A metastore and this process do not trust each other. Another address may still work: its metastore may have the
    right key.
    """


class ProtectedTransport(TTransport.TTransportBase):  # type: ignore[misc]
    """Frames over a transport. Each frame is signed or encrypted, as the negotiation decided."""

    def __init__(self, below: Any, context: Any, protection: int, longest: int) -> None:
        self._below, self._context, self._protection = below, context, protection
        self._longest = longest  # bytes of one frame's content
        self._left = memoryview(b"")

    def isOpen(self) -> bool:
        return bool(self._below.isOpen())

    def close(self) -> None:
        self._below.close()

    def read(self, size: int) -> bytes:
        """Return at least one byte. Raises the errors of `TTransport`."""
        while not self._left:
            (length,) = struct.unpack("!i", self._below.readAll(4))
            self._left = memoryview(self._opened(_read(self._below, length, _LONGEST_FRAME)))
        found, self._left = self._left[:size], self._left[size:]
        return bytes(found)

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), self._longest):
            frame = self._closed(data[start : start + self._longest])
            self._below.write(struct.pack("!i", len(frame)) + frame)

    def flush(self) -> None:
        self._below.flush()

    def _closed(self, data: bytes) -> bytes:
        if self._protection == _UNPROTECTED:
            return data
        return bytes(self._context.wrap(data, self._protection == _ENCRYPTED).message)

    def _opened(self, frame: bytes) -> bytes:
        if self._protection == _UNPROTECTED:
            return frame
        found = self._context.unwrap(frame)
        if self._protection == _ENCRYPTED and not found.encrypted:
            raise TTransport.TTransportException(message="a frame that is not encrypted, although this was agreed")
        return bytes(found.message)


def protected(below: Any, principal: str, address: Address) -> ProtectedTransport:
    """Return a protected transport over a connected transport, between this process's user and a metastore's principal.

    Raises `StorageRefusedError` if the user has no ticket, `Unauthenticated`, `UnsupportedFeatureError`, and the errors
    of the transport below.
    """
    gssapi = import_optional("gssapi", f"The metastore {address}, which asks for Kerberos,", "hive-kerberos")
    service, is_whole = kerberos_service(principal, address)
    try:
        kind = gssapi.NameType.kerberos_principal if is_whole else gssapi.NameType.hostbased_service
        return _negotiated(below, _context(gssapi, gssapi.Name(service, kind)), service)
    except gssapi.exceptions.GSSError as error:
        said = _words(error)
        lack = _what_the_user_lacks(gssapi, said)
        if lack is None:
            raise Unauthenticated(f"no trust between this process and {service}: {said}") from error
        raise StorageRefusedError(
            f"The metastore {address} asks for Kerberos, and {lack}. Get one with `kinit`, as the user who started "
            "this process, and run the statement again."
        ) from error


def _context(gssapi: Any, name: Any) -> Any:
    wanted = gssapi.RequirementFlag
    return gssapi.SecurityContext(
        name=name,
        mech=gssapi.MechType.kerberos,
        usage="initiate",
        flags=[
            *(wanted.mutual_authentication, wanted.integrity, wanted.confidentiality),
            wanted.out_of_sequence_detection,
        ],
    )


def _negotiated(below: Any, context: Any, service: str) -> ProtectedTransport:
    """Negotiate the protection of a connection."""
    answer = context.step()
    _send(below, _START, b"GSSAPI")
    while not context.complete:
        _send(below, _OK, answer or b"")
        answer = context.step(_received(below, _OK, service))
    _send(below, _OK, answer or b"")
    protection, most = _offer(context.unwrap(_received(below, _OK, service)).message)
    is_bare = protection == _UNPROTECTED
    agreed = struct.pack("!I", protection << 24 | (0 if is_bare else _MOST_RECEIVED))
    _send(below, _OK, context.wrap(agreed, False).message)
    _received(below, _COMPLETE, service)
    longest = _LONGEST_FRAME if is_bare else context.get_wrap_size_limit(most, protection == _ENCRYPTED)
    return ProtectedTransport(below, context, protection, longest)


def _offer(message: bytes) -> tuple[int, int]:
    """Return the strongest protection that a metastore offers, and the longest frame that it then accepts, in bytes."""
    if len(message) != 4:
        raise Unauthenticated("its offer does not follow SASL")
    (word,) = struct.unpack("!I", message)
    for protection in (_ENCRYPTED, _SIGNED, _UNPROTECTED):
        if word >> 24 & protection and (protection == _UNPROTECTED or word & _MOST_RECEIVED):
            return protection, word & _MOST_RECEIVED
    raise Unauthenticated("it offers no protection that SASL has")


def _send(below: Any, status: int, body: bytes) -> None:
    below.write(struct.pack("!BI", status, len(body)) + body)
    below.flush()


def _received(below: Any, expected: int, service: str) -> bytes:
    status, length = struct.unpack("!BI", below.readAll(5))
    if status not in (_OK, _BAD, _ERROR, _COMPLETE):
        raise Unauthenticated("its answer does not come from a server that asks for Kerberos")
    body = _read(below, length, _LONGEST_MESSAGE)
    if status in (_BAD, _ERROR):
        said = visible(" ".join(body[:500].decode(errors="replace").split()))
        raise Unauthenticated(f"it refused the ticket for {service}: {said}")
    if status != expected:
        raise Unauthenticated("it ended the negotiation out of turn")
    return body


def _read(below: Any, length: int, most: int) -> bytes:
    if not 0 <= length <= most:
        raise TTransport.TTransportException(TTransport.TTransportException.SIZE_LIMIT, f"{length} bytes in one piece")
    return bytes(below.readAll(length))


def _what_the_user_lacks(gssapi: Any, said: str) -> str | None:
    """Return the reason why the user cannot authenticate, after Kerberos failed.

    Return None if the user has a valid ticket.
    """
    errors = gssapi.exceptions
    try:
        lifetime = gssapi.Credentials(usage="initiate", mechs=[gssapi.MechType.kerberos]).lifetime
    except errors.ExpiredCredentialsError:
        lifetime = 0
    except errors.GSSError:
        return f"this process has no ticket ({said})"
    return "this process's ticket has expired" if lifetime == 0 else None


def _words(error: Any) -> str:
    """Return Kerberos's error message, or GSSAPI's message if Kerberos has none."""
    said = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return visible("; ".join(said or error.get_all_statuses(error.maj_code, True)))
