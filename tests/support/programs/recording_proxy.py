"""A proxy before a server of HTTP: it writes down each request, and delays it: PORT, UPSTREAM PORT, SECONDS, FILE."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from pathlib import Path

_END_OF_HEAD = b"\r\n\r\n"
_LIMIT = 2**26


async def _serve(port: int, upstream: int, delay: float, log: Path) -> None:
    with log.open("a", buffering=1) as lines:

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                to = await asyncio.open_connection("127.0.0.1", upstream, limit=_LIMIT)
                try:
                    while True:
                        request = await _relay((reader, writer), to, delay)
                        lines.write(json.dumps(request) + "\n")
                finally:
                    to[1].close()
            writer.close()

        async with await asyncio.start_server(connected, "127.0.0.1", port, limit=_LIMIT) as server:
            await server.serve_forever()


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _relay(client: Ends, server: Ends, delay: float) -> dict[str, object]:
    head = await client[0].readuntil(_END_OF_HEAD)
    began = time.time()
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
    if _header(head, b"expect"):
        client[1].write(b"HTTP/1.1 100 Continue\r\n\r\n")
        head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
    body = await _body(client[0], head)
    await asyncio.sleep(delay)
    server[1].write(head + body)
    answer = await server[0].readuntil(_END_OF_HEAD)
    status = int(answer.split(b" ", 2)[1])
    has_body = method != "HEAD" and status not in (204, 304)
    content = await _body(server[0], answer) if has_body else b""
    ended = time.time()
    client[1].write(answer + content)
    await client[1].drain()
    kind = "LIST" if method == "GET" and ("list-type=2" in target or "prefix=" in target) else method
    found = {"kind": kind, "target": target, "range": _header(head, b"range"), "status": status}
    return {**found, "began": began, "ended": ended, "received": len(content)}


def _header(head: bytes, name: bytes) -> str:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip().decode()
    return ""


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if _header(head, b"transfer-encoding").lower() != "chunked":
        return await reader.readexactly(int(_header(head, b"content-length") or 0))
    content = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        content += line + await reader.readexactly(size + 2)
        if size == 0:
            return content


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])))
