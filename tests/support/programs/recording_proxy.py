"""A proxy before a server of HTTP: it writes down each request, and delays it.

``python recording_proxy.py PORT UPSTREAM_PORT SECONDS FILE EVERY``. Each EVERY-th request is not handed on: its answer
is 503 or 429, in turns, as of a store that has too much to do; 0: none.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

END_OF_HEAD = b"\r\n\r\n"
_LIMIT = 2**26
_SLOW_DOWN = (
    b"<?xml version='1.0' encoding='UTF-8'?><Error><Code>SlowDown</Code><Message>reduce your rate</Message></Error>"
)
_REFUSALS = ("503 Slow Down", "429 Too Many Requests")


async def _serve(port: int, upstream: int, delay: float, log: Path, every: int) -> None:
    numbers = itertools.count(1)

    def refusal() -> str:
        """The status of the answer to a request that is not handed on; "": it is."""
        number = next(numbers)
        return _REFUSALS[number // every % 2] if every and number % every == 0 else ""

    with log.open("a", buffering=1) as lines:

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                to = await asyncio.open_connection("127.0.0.1", upstream, limit=_LIMIT)
                try:
                    while True:
                        request, answer = await _relay(reader, writer, to, delay, refusal)
                        lines.write(json.dumps(request) + "\n")  # first: who has the answer may look for it
                        writer.write(answer)
                        await writer.drain()
                finally:
                    to[1].close()
            writer.close()

        async with await asyncio.start_server(connected, "127.0.0.1", port, limit=_LIMIT) as server:
            await server.serve_forever()


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Ends, delay: float, refusal: Callable[[], str]
) -> tuple[dict[str, object], bytes]:
    """What was asked, and the answer."""
    head = await reader.readuntil(END_OF_HEAD)
    began = time.time()
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
    if header(head, b"expect"):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
    body = await body_of(reader, head)
    await asyncio.sleep(delay)
    refused = refusal()
    if refused:
        answer = f"HTTP/1.1 {refused}\r\nContent-Length: {len(_SLOW_DOWN)}\r\n\r\n".encode()
        status, content = int(refused.split()[0]), b"" if method == "HEAD" else _SLOW_DOWN
    else:
        server[1].write(head + body)
        answer = await server[0].readuntil(END_OF_HEAD)
        status = int(answer.split(b" ", 2)[1])
        has_body = method != "HEAD" and status not in (204, 304)
        content = await body_of(server[0], answer) if has_body else b""
    ended = time.time()
    kind = "LIST" if method == "GET" and ("list-type=2" in target or "prefix=" in target) else method
    found = {"kind": kind, "target": target, "range": header(head, b"range"), "status": status}
    return {**found, "began": began, "ended": ended, "received": len(content)}, answer + content


def header(head: bytes, name: bytes) -> str:
    """The value of a header; "": there is none."""
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip().decode()
    return ""


async def body_of(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """The body that follows a head, as it was sent."""
    if header(head, b"transfer-encoding").lower() != "chunked":
        return await reader.readexactly(int(header(head, b"content-length") or 0))
    content = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        content += line + await reader.readexactly(size + 2)
        if size == 0:
            return content


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])))
