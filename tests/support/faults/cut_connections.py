"""A proxy of a TCP server that cuts connections: all of them, at a call with a word, or at a piece of what is said."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIZE = 1 << 16
_ANSWER_SECONDS = 0.3  # some pieces of a request get no answer of their own


class CuttingProxy:
    """Passes on what is said.

    Attributes:
        port: of localhost.
        connections: how many have been made.
        pieces: how many pieces of data clients have sent. A request is one piece or a few.
    """

    def __init__(self, target: int) -> None:
        self._target, self._open = target, set[socket.socket]()
        self._call, self._is_late, self._lock = b"", False, threading.Lock()
        self._piece: int | None = None
        self._act: Callable[[], object] = bool
        self.pieces = 0
        self._listener = socket.create_server(("localhost", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, call: str, late: bool) -> None:
        """Cuts the connection at the next request with this word: before the server has it, or late, before its
        answer."""
        with self._lock:
            self._call, self._is_late = call.encode(), late

    def cut_piece(self, number: int, late: bool, act: Callable[[], object] = bool) -> None:
        """Cuts the connection at a piece, by its number from 0 on, and all that clients say later.

        Args:
            late: the server has the piece and has answered, and the client does not hear it.
            act: is called at that moment, before the client sees that the connection is cut.
        """
        with self._lock:
            self._piece, self._is_late, self._act = number, late, act

    def heal(self) -> None:
        """Passes on everything from now on."""
        with self._lock:
            self._piece, self.pieces = None, 0

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
                        if not data:
                            return
                        if one is server and is_cut:
                            return
                        if one is client and self._is_to_cut(data):
                            if not self._is_late:
                                return
                            is_cut = True
                        if one is client and self._is_at_piece(server, data):
                            return
                        (server if one is client else client).sendall(data)
                except OSError:
                    return

    def _is_at_piece(self, server: socket.socket, data: bytes) -> bool:
        """True if the connection is cut at these data; late: after the answer to them."""
        with self._lock:
            number, self.pieces = self.pieces, self.pieces + 1
            if self._piece is None or number < self._piece:
                return False
            is_first, act = number == self._piece, self._act
        if is_first and self._is_late:
            server.sendall(data)
            select.select([server], [], [], _ANSWER_SECONDS)
        act()
        return True

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
