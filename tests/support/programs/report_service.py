"""A service that takes the reports of partitions that are done."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Mapping[str, str], bytes]
"""The status, headers and the body."""
SUCCESS: Answer = (200, {}, b'{"result": "success", "more": 1}')


@dataclass(frozen=True)
class Report:
    """One that was sent."""

    method: str
    path: str
    content_type: str
    body: Any


@dataclass
class ReportService:
    """Answers in turn, the last answer again and again, and keeps what it was sent."""

    answers: list[Answer] = field(default_factory=lambda: [SUCCESS])
    sent: list[Report] = field(default_factory=list)
    url: str = ""


@contextmanager
def report_service() -> Iterator[ReportService]:
    """One on this machine, on a port of its own."""
    found = ReportService()

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.sent.append(Report(self.command, self.path, self.headers["Content-Type"], body))
            status, headers, text = found.answers[0] if len(found.answers) == 1 else found.answers.pop(0)
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/done?key=secret"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
