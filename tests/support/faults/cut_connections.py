"""A proxy of a TCP server whose connections can be cut, also at a call that is known by its name in the request."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIZE = 1 << 16


class CuttingProxy:
    """Passes on what is said.

    Attributes:
        port: of localhost.
        connections: how many have been made.
    """

    def __init__(self, target: int) -> None:
        self._target, self._open = target, set[socket.socket]()
        self._call, self._is_late, self._lock = b"", False, threading.Lock()
        self._listener = socket.create_server(("localhost", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, call: str, late: bool) -> None:
        """Cuts the connection at the next request with this word: before the server has it, or late, before its
        answer."""
        with self._lock:
            self._call, self._is_late = call.encode(), late

    def cut(self) -> None:
        """Cuts all connections that there are."""
        for one in list(self._open):
            _shut(one)

    def close(self) -> None:
        _shut(self._listener)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(("localhost", self._target)) as server:
            self._open.add(client)
            is_cut = False
            while True:
                try:
                    ready, _, _ = select.select([client, server], [], [])
                    for one in ready:
                        data = one.recv(_SIZE)
                        if not data or (is_cut and one is server):
                            return
                        if one is client and self._is_to_cut(data):
                            if not self._is_late:
                                return
                            is_cut = True
                        (server if one is client else client).sendall(data)
                except OSError:
                    return

    def _is_to_cut(self, data: bytes) -> bool:
        with self._lock:
            if not self._call or self._call not in data:
                return False
            self._call = b""
            return True


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is not connected


@contextmanager
def cutting_proxy(target: int) -> Iterator[CuttingProxy]:
    """A proxy of a port of localhost."""
    made = CuttingProxy(target)
    try:
        yield made
    finally:
        made.close()
