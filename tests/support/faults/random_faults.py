"""A proxy before a storage server that lets requests go wrong at random, before, while and after they are done."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from support.programs.recording_proxy import END_OF_HEAD, body_of

_LIMIT = 2**26
_PIECE = 2**16
_SLOW_SECONDS = 0.3
_STALE_SECONDS = 3.0
_REFUSALS = {
    "500": b"500 Internal Server Error",
    "503": b"503 Slow Down",
    "429": b"429 Too Many Requests",
}
_BODY = b"<?xml version='1.0' encoding='UTF-8'?><Error><Code>SlowDown</Code><Message>of the test</Message></Error>"
HTTP_FAULTS = (
    *("reset before", "half a request", "reset inside", "reset after", "500 after", "sent twice", "slow", "stale list"),
    *_REFUSALS,
)
"""What can go wrong with a request: the connection is reset before the server has it, while the server gets it, within
the answer or before it; the server has done it and an error is told; the server gets it twice; it takes long; a list is
that of seconds ago; it is refused."""
STREAM_FAULTS = ("reset before", "reset after", "slow")
"""What can go wrong with a piece of what is said to a name node."""


@dataclass(frozen=True)
class _Message:
    """A head and a body, as they were sent."""

    head: bytes
    body: bytes

    @property
    def method(self) -> bytes:
        return self.head.partition(b" ")[0]

    @property
    def target(self) -> bytes:
        return self.head.split(b" ", 2)[1]

    @property
    def is_list(self) -> bool:
        marks = (b"list-type=2", b"comp=list", b"prefix=")
        return self.method == b"GET" and any(mark in self.target for mark in marks)


class FaultyProxy:
    """Passes on what is said to a server of the loopback, and lets a share of it go wrong.

    Attributes:
        port: of the loopback.
        counts: how often each fault has happened.
        share: of the requests that go wrong; 0.0: none.
    """

    def __init__(self, target: int, seed: str, is_http: bool = True, keeps_host: bool = True) -> None:
        self.counts: Counter[str] = Counter()
        self.share = 0.0
        self._target, self._random, self._is_http = target, random.Random(seed), is_http
        self._keeps_host = keeps_host
        self._lists: dict[bytes, list[tuple[float, _Message]]] = {}
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        serve = self._http if self._is_http else self._stream
        self._server = self._loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, limit=_LIMIT))
        self.port: int = self._server.sockets[0].getsockname()[1]
        started.set()
        self._loop.run_forever()

    def _drawn(self, faults: tuple[str, ...]) -> str:
        """A fault; "": none."""
        if self._random.random() >= self.share:
            return ""
        fault = self._random.choice(faults)
        self.counts[fault] += 1
        return fault

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            server = await asyncio.open_connection("127.0.0.1", self._target, limit=_LIMIT)
            try:
                while await self._request(reader, writer, server):
                    pass
            finally:
                server[1].close()
        _reset(writer)

    async def _request(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> bool:
        """Passes on one request; whether the connection is still good."""
        head = await reader.readuntil(END_OF_HEAD)
        if not self._keeps_host:
            head = head.replace(b"127.0.0.1:%d" % self.port, b"127.0.0.1:%d" % self._target, 1)
        request = _Message(head, await body_of(reader, head))
        fault = self._drawn(HTTP_FAULTS if request.is_list else tuple(f for f in HTTP_FAULTS if f != "stale list"))
        if fault == "reset before":
            return False
        if fault == "half a request":
            server[1].write((request.head + request.body)[: len(request.head) + len(request.body) // 2])
            await server[1].drain()
            return False
        if fault in _REFUSALS:
            return await _said(writer, _refusal(fault, request))
        if fault == "slow":
            await asyncio.sleep(_SLOW_SECONDS)
        answer = await _asked(request, server)
        if fault == "sent twice":
            answer = await _asked(request, server)
        if request.is_list:
            answer = self._listed(request, answer, fault == "stale list")
        if fault == "reset after":
            return False
        if fault == "500 after":
            return await _said(writer, _refusal("500", request))
        if fault == "reset inside":
            whole = answer.head + answer.body
            await _said(writer, whole[: len(whole) - 1 - self._random.randrange(len(whole) - 1)])
            return False
        return await _said(writer, answer.head + answer.body)

    def _listed(self, request: _Message, answer: _Message, is_stale: bool) -> _Message:
        """The answer to a list, or an earlier one to the same; the answers of the last seconds are kept."""
        now = self._loop.time()
        known = [(at, one) for at, one in self._lists.get(request.target, []) if at > now - _STALE_SECONDS]
        self._lists[request.target] = [*known, (now, answer)]
        return known[0][1] if is_stale and known else answer

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
            answers = asyncio.ensure_future(_copy(from_server, writer))
            with suppress(ConnectionError):
                while piece := await reader.read(_PIECE):
                    fault = self._drawn(STREAM_FAULTS)
                    if fault == "reset before":
                        break
                    if fault == "slow":
                        await asyncio.sleep(_SLOW_SECONDS)
                    if fault == "reset after":
                        answers.cancel()
                        to_server.write(piece)
                        await to_server.drain()
                        with suppress(asyncio.TimeoutError, RuntimeError):
                            await asyncio.wait_for(from_server.read(_PIECE), _SLOW_SECONDS)
                        break
                    to_server.write(piece)
                    await to_server.drain()
            answers.cancel()
            _reset(to_server)
        _reset(writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def _asked(request: _Message, server: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> _Message:
    server[1].write(request.head + request.body)
    head = await server[0].readuntil(END_OF_HEAD)
    while head.split(b" ", 2)[1] == b"100":  # the body is there already
        head = await server[0].readuntil(END_OF_HEAD)
    has_body = request.method != b"HEAD" and head.split(b" ", 2)[1] not in (b"204", b"304")
    return _Message(head, await body_of(server[0], head) if has_body else b"")


async def _said(writer: asyncio.StreamWriter, data: bytes) -> bool:
    writer.write(data)
    await writer.drain()
    return True


def _refusal(code: str, request: _Message) -> bytes:
    body = b"" if request.method == b"HEAD" else _BODY
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (_REFUSALS[code], len(_BODY), body)


def _reset(writer: asyncio.StreamWriter) -> None:
    if not writer.is_closing():
        writer.transport.abort()


@contextmanager
def faulty_proxy(target: int, seed: str, is_http: bool = True, keeps_host: bool = True) -> Iterator[FaultyProxy]:
    """A proxy of a port of the loopback.

    Args:
        is_http: whether requests of HTTP are said; else whatever else.
        keeps_host: whether the server is told the port of the proxy, which requests may be signed with; else its own.
    """
    made = FaultyProxy(target, seed, is_http, keeps_host)
    try:
        yield made
    finally:
        made.close()
