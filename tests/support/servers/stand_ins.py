"""Stand-ins for the services of clouds that hand out credentials: no server of these can be had from a registry.

They answer as the documentation of each service says; what the credentials open is a real storage server.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

NO_TOKEN = ""
"""The token beside keys: versitygw refuses every other one."""
_STS = "https://sts.amazonaws.com/doc/2011-06-15/"


@dataclass
class Asked:
    """A request. form: what its body holds, if that is a form."""

    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, str]


Answer = Callable[[Asked], str]


class Refused(Exception):
    """The answer is a refusal: its status and body."""


@dataclass
class StandIn:
    """A service that runs.

    Attributes:
        address: ``http://127.0.0.1:<port>``.
        asked: the requests, in order.
    """

    address: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def stand_in(answers: Mapping[str, Answer], certificate: tuple[Path, Path] | None = None) -> Iterator[StandIn]:
    """Serves answers on a free port of the loopback.

    Args:
        answers: by the beginning of a path; the longest one that fits counts.
        certificate: and its key, of a server of TLS; None: it is one of plain HTTP.
    """
    found = StandIn("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode(errors="replace")
            form = {key: values[0] for key, values in parse_qs(body).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, form)
            found.asked.append(asked)
            start = max((start for start in answers if self.path.startswith(start)), key=len, default=None)
            try:
                status, text = (404, "") if start is None else (200, answers[start](asked))
            except Refused as refused:
                status, text = refused.args
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = _serve

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found.address = f"http{'' if certificate is None else 's'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def aws_keys(access: str, secret: str, lives: timedelta = timedelta(hours=1)) -> str:
    """Credentials as the metadata of machines and containers of AWS give them."""
    return json.dumps(
        {
            "Code": "Success",
            "Type": "AWS-HMAC",
            "LastUpdated": _time(timedelta()),
            "AccessKeyId": access,
            "SecretAccessKey": secret,
            "Token": NO_TOKEN,
            "Expiration": _time(lives),
            "RoleArn": "arn:aws:iam::123456789012:role/of-test",
        }
    )


def sts_answer(action: str, access: str, secret: str) -> str:
    """The answer of AWS STS. action: AssumeRole or AssumeRoleWithWebIdentity."""
    return (
        f'<{action}Response xmlns="{_STS}"><{action}Result><Credentials><AccessKeyId>{access}</AccessKeyId>'
        f"<SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{NO_TOKEN}</SessionToken>"
        f"<Expiration>{_time(timedelta(hours=1))}</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::1:x"
        f"</Arn><AssumedRoleId>A:b</AssumedRoleId></AssumedRoleUser></{action}Result></{action}Response>"
    )


def bearer(audience: str, issuer: str, lives: timedelta = timedelta(hours=1)) -> str:
    """A token of Entra ID, whose signature nobody checks here, and how long it lives, as its server tells them."""
    now = int(datetime.now(UTC).timestamp())
    ends = now + int(lives.total_seconds())
    claims = {"aud": audience, "iss": issuer, "nbf": now - 60, "iat": now - 60, "exp": ends}
    parts = [urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "RS256"}, claims)]
    token = ".".join((*parts, "c2lnbmVk"))
    seconds = int(lives.total_seconds())
    return json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": seconds, "expires_on": str(ends)})


def certificate_of_loopback(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def _time(ahead: timedelta) -> str:
    return (datetime.now(UTC) + ahead).strftime("%Y-%m-%dT%H:%M:%SZ")
