"""A proxy before an object store, which refuses requests, loses answers and cuts them, by dice.

It runs in a thread with an event loop of its own. A request with an effect may be answered by an error, so that a
client does not know what it did. A fault whose name begins with "creates " harms creates only.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType

# the share of requests with each fault
FAULTS: Mapping[str, float] = MappingProxyType(
    {
        "busy": 0.03,  # 503, without an effect
        "broken": 0.01,  # 500, without an effect
        "done, but broken": 0.02,  # 500, with the effect
        "done, but lost": 0.02,  # no answer, with the effect
        "cut": 0.01,  # half of an answer
        "creates postponed": 0.1,  # 409, without an effect
    }
)
_CREATES = "creates "
_CONDITIONS = (b"\r\nif-none-match:", b"\r\nx-oss-forbid-overwrite:", b"\r\nx-goog-if-generation-match: 0")
_ENDS = {"busy": (503, "SlowDown"), "broken": (500, "InternalError"), "postponed": (409, "ConditionalRequestConflict")}


@contextmanager
def faulty_proxy(port: int, faults: Mapping[str, float], seed: int = 0) -> Iterator[int]:
    """Forward to a port of this machine, with faults. Yield the proxy's port."""
    loop, found, dice = asyncio.new_event_loop(), list[int](), random.Random(seed)
    is_ready = threading.Event()

    async def serve() -> None:
        server = await asyncio.start_server(lambda r, w: _serve(r, w, port, faults, dice), "127.0.0.1", 0)
        found.append(server.sockets[0].getsockname()[1])
        is_ready.set()

    loop.create_task(serve())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    is_ready.wait(30)
    try:
        yield found[0]
    finally:
        asyncio.run_coroutine_threadsafe(_end(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _end() -> None:
    """End the open connections."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    port: int,
    faults: Mapping[str, float],
    dice: random.Random,
) -> None:
    """Serve the requests of one connection, each by a connection of its own to the server."""
    with suppress(OSError, EOFError):
        while head := await _head(reader):
            chosen = next((name for name, share in faults.items() if dice.random() < share), "")
            fault = chosen.removeprefix(_CREATES)
            if fault != chosen and not any(condition in head.lower() for condition in _CONDITIONS):
                fault = ""
            if b"\r\nexpect: 100-continue" in head.lower():
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
            body = await _body(reader, head)
            if fault == "unsent":  # the connection ends before the server has the request
                break
            if fault in _ENDS:
                writer.write(_error(head, *_ENDS[fault]))
            else:
                answer = await _asked(port, head, body)
                if fault == "done, but lost":
                    break
                is_cut = fault == "cut" and len(answer) > 400
                broken = fault == "done, but broken"
                writer.write(
                    _error(head, 500, "InternalError") if broken else answer[: len(answer) // 2 if is_cut else None]
                )
                if is_cut:
                    break
            await writer.drain()
    writer.close()


async def _asked(port: int, head: bytes, body: bytes) -> bytes:
    """Return the server's whole answer."""
    first, *rest = (line for line in head.rstrip().split(b"\r\n") if not line.lower().startswith(b"connection:"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\r\n".join([first, b"Connection: close", *rest, b"", b""]) + body)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"", b""]) + content


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    headers = dict(line.lower().split(b":", 1) for line in head.strip().split(b"\r\n")[1:])
    if headers.get(b"transfer-encoding", b"").strip() == b"chunked":
        parts = list[bytes]()
        while True:
            line = await reader.readuntil(b"\r\n")
            parts += [line, await reader.readexactly(int(line.split(b";")[0], 16) + 2)]
            if parts[-1] == b"\r\n":
                return b"".join(parts)
    return await reader.readexactly(int(headers.get(b"content-length", b"0")))


def _error(head: bytes, status: int, code: str) -> bytes:
    text = f"<Error><Code>{code}</Code><Message>by the proxy</Message></Error>".encode()
    text = b"" if head.startswith(b"HEAD ") else text
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: application/xml\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text
    )
