"""The server itself: HTTP, credentials, faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from support.rest_server.answers import Failure, Json
from support.rest_server.faults import Fault, When
from support.rest_server.routes import answer
from support.rest_server.tables import State

PREFIX = "pre fix"
WAREHOUSE = "lake house"
TOKEN = "tok-3f9c2b7e51"

Allows = Callable[[str, str, Mapping[str, str], str, Mapping[str, str]], bool]
"""True if a request may be done: method, path, query, body, headers."""


def _bearer(method: str, path: str, query: Mapping[str, str], body: str, headers: Mapping[str, str]) -> bool:
    return headers.get("authorization") == f"Bearer {TOKEN}"


@dataclass
class RestServer:
    """A running server.

    Attributes:
        url: its address.
        state: what it keeps.
        requests: (method, path with query, headers) of all requests so far.
        faults: requests to come that fail.
        config: defaults and overrides that it tells.
    """

    url: str
    state: State
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    config: dict[str, dict[str, str]] = field(default_factory=lambda: {"defaults": {"prefix": PREFIX}, "overrides": {}})
    allows: Allows = _bearer

    @property
    def options(self) -> dict[str, str]:
        """Of a catalog on this server."""
        own = {"metastore": "rest", "uri": self.url, "warehouse": WAREHOUSE}
        return {**own, "token.provider": "bear", "token": TOKEN}

    def take_fault(self, method: str, path: str) -> Fault | None:
        """The next fault that meets a request, once."""
        found = next((fault for fault in self.faults if fault.meets(method, path)), None)
        if found is not None:
            self.faults.remove(found)
        return found


@contextmanager
def rest_server(warehouse: Path) -> Iterator[RestServer]:
    """A server whose tables are below a directory of this machine."""

    class Handler(_Handler):
        """Of this server."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = Handler.rest = RestServer(f"http://127.0.0.1:{http.server_address[1]}", State(warehouse))
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rest: RestServer

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.rest.requests.append((self.command, self.path, headers))
        fault = self.rest.take_fault(self.command, self.path)
        status, answer = 503, {"message": "busy", "code": 503}
        if fault is None or fault.when is When.AFTER:
            status, answer = self._done(body, headers)
        if fault is not None and fault.status is None:
            self.close_connection = True
            self.connection.close()
            return
        if fault is not None and fault.status is not None:
            status, answer = fault.status, {"message": fault.message, "code": fault.code or fault.status}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _done(self, body: str, headers: Mapping[str, str]) -> tuple[int, Json]:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        if not self.rest.allows(self.command, url.path, query, body, headers):
            return 401, {"message": "wrong credentials", "code": 401}
        version, *parts = [unquote_plus(part) for part in url.path.strip("/").split("/")]
        try:
            if (version, parts) == ("v1", ["config"]) and query.get("warehouse") == WAREHOUSE:
                return 200, self.rest.config
            if version != "v1" or not parts or parts[0] != PREFIX:
                raise Failure(404, None, None, "no such path")
            with self.rest.state.lock:
                return 200, answer(self.rest.state, self.command, parts[1:], query, json.loads(body or "{}"))
        except Failure as failure:
            return failure.status, failure.body
        except Exception as error:
            return 500, {"message": f"{type(error).__name__}: {error}", "code": 500}
