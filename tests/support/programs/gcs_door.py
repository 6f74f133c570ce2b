"""The XML interface of Google Cloud Storage before fake-gcs-server, which has uploads by the JSON interface alone.

``python -c COMMAND PORT UPSTREAM_PORT FILE``, with the COMMAND of this module. A PUT becomes an upload of the JSON
interface, with the condition that its header names; a copy becomes a rewrite; the parts of an upload are kept here
until it is completed. All else is passed on as it is. Whether a condition holds is decided by the server, under its
own lock. The server looks at no credentials: the header of each request that has them is a line of the file.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO
from urllib.parse import parse_qs, quote, unquote, urlsplit

from support.programs.recording_proxy import END_OF_HEAD, body_of, header

COMMAND = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from {__name__} import main; main()"
_LIMIT = 2**26
_CONDITION, _SOURCE = b"x-goog-if-generation-match", b"x-goog-copy-source"
_ENDED = "<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
_BEGUN = (
    "<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{key}</Key><UploadId>{upload}</UploadId>"
    "</InitiateMultipartUploadResult>"
)
_REFUSED = "<Error><Code>{code}</Code><Message>fake-gcs-server: {message}</Message></Error>"


class _Door:
    """Attributes: upstream: the port of the server. credentials: the lines of the file."""

    def __init__(self, upstream: int, credentials: TextIO) -> None:
        self.upstream, self.credentials = upstream, credentials
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._numbers = itertools.count()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(END_OF_HEAD)
                self.credentials.write(f"{header(head, b'authorization')}\n")
                writer.write(await self._answer(head, await body_of(reader, head)))
                await writer.drain()
        writer.close()

    async def _answer(self, head: bytes, body: bytes) -> bytes:
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        place = urlsplit(target)
        bucket, _, key = place.path.lstrip("/").partition("/")
        query = parse_qs(place.query, keep_blank_values=True)
        if method not in ("PUT", "POST") or not key or key.startswith("v1/"):
            return await self._asked(head, body)
        upload = query.get("uploadId", [""])[0]
        if "uploads" in query:
            upload = str(next(self._numbers))
            self._uploads[upload] = {}
            return _said(200, _BEGUN.format(bucket=bucket, key=key, upload=upload))
        if method == "PUT" and upload:
            number = int(query["partNumber"][0])
            self._uploads[upload][number] = body
            return _said(200, "", {"ETag": f'"{number}"'})
        if upload:
            parts = self._uploads.pop(upload)
            whole = b"".join(parts[number] for number in sorted(parts))
            return _translated(await self._stored(bucket, key, head, whole), _ENDED)
        if header(head, _SOURCE):
            source, _, name = header(head, _SOURCE).lstrip("/").partition("/")
            to = f"/storage/v1/b/{source}/o/{_whole(name)}/copyTo/b/{bucket}/o/{_whole(key)}"
            return _translated(await self._asked(_head("POST", to, 0), b""))
        return _translated(await self._stored(bucket, key, head, body))

    async def _stored(self, bucket: str, key: str, head: bytes, body: bytes) -> bytes:
        condition = header(head, _CONDITION)
        more = f"&ifGenerationMatch={condition}" if condition else ""
        to = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={_whole(key)}{more}"
        return await self._asked(_head("POST", to, len(body)), body)

    async def _asked(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream, limit=_LIMIT)
        writer.write(head + body)
        answer = await reader.readuntil(END_OF_HEAD)
        has_body = not head.startswith(b"HEAD") and answer.split(b" ", 2)[1] not in (b"204", b"304")
        content = await body_of(reader, answer) if has_body else b""
        writer.close()
        return answer + content


def _whole(key: str) -> str:
    """A name as one part of a path: slashes are encoded too."""
    return quote(unquote(key), safe="")


def _head(method: str, target: str, size: int) -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n".encode()


def _translated(answer: bytes, text: str = "") -> bytes:
    """The answer of the JSON interface as that of XML: what is told of an object stands in headers."""
    head, _, body = answer.partition(END_OF_HEAD)
    status = int(head.split(b" ", 2)[1])
    if status != 200:
        code = {412: "PreconditionFailed", 404: "NoSuchKey"}.get(status, "InternalError")
        return _said(status, _REFUSED.format(code=code, message=re.sub(r"[<>&]", " ", body.decode(errors="replace"))))
    found = json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])
    found = found.get("resource", found)
    headers = {"ETag": f'"{found["etag"].strip(chr(34))}"', "x-goog-generation": str(found["generation"])}
    return _said(200, text.format(etag=found["etag"]), headers)


def _said(status: int, text: str, headers: dict[str, str] | None = None) -> bytes:
    body = text.encode()
    lines = [f"HTTP/1.1 {status} X", *(f"{key}: {value}" for key, value in (headers or {}).items())]
    return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body


async def _serve(port: int, upstream: int, file: str) -> None:
    with open(file, "a", buffering=1) as lines:
        door = _Door(upstream, lines)
        async with await asyncio.start_server(door.connected, "127.0.0.1", port, limit=_LIMIT) as server:
            await server.serve_forever()


def main() -> None:
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
