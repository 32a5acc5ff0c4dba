"""A TCP proxy between a client and a server that loses the answers to some requests."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class LossyProxy:
    """Forwards to `port`. `lose` is the number of answers that it will still lose, to requests that contain
    `marker`.
    """

    def __init__(self, port: int, marker: bytes, lose: int = 1) -> None:
        self._server, self._marker, self.lose = port, marker, lose
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._server)) as server:
            loses = [False]
            threading.Thread(target=self._answers, args=(server, client, loses), daemon=True).start()
            while data := client.recv(2**16):
                if self._marker in data and self.lose > 0:
                    self.lose -= 1
                    loses[0] = True
                server.sendall(data)

    def _answers(self, server: socket.socket, client: socket.socket, loses: list[bool]) -> None:
        with suppress(OSError):
            while data := server.recv(2**16):
                if loses[0]:
                    client.shutdown(socket.SHUT_RDWR)  # the server has handled it
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
