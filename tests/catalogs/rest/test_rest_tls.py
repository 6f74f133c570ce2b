"""Connections by TLS that break: before a request has gone out, and after it (protocol C7)."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from paimon_spark.catalogs.rest.failures import NoAnswer, NotReached
from paimon_spark.catalogs.rest.http import HttpClient


def certificate(place: Path) -> Path:
    """A key and a certificate for 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")]), datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path = place / "server.pem"
    path.write_bytes(text + made.public_bytes(serialization.Encoding.PEM))
    return path


@dataclass
class Server:
    """url: its address; requests: the first line of each that has arrived as a whole."""

    url: str
    certificate: Path
    requests: list[bytes] = field(default_factory=list)


def breaking(connection: socket.socket, context: ssl.SSLContext, requests: list[bytes]) -> None:
    """Takes a request, and answers with what is no record of TLS."""
    safe = context.wrap_socket(connection, server_side=True)
    data = b""
    while not data.endswith(b"}"):
        data += safe.recv(65536)
    requests.append(data.partition(b"\r\n")[0])
    with socket.socket(fileno=safe.detach()) as plain:
        plain.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")


def unsafe(connection: socket.socket, context: ssl.SSLContext, requests: list[bytes]) -> None:
    """Speaks no TLS at all."""
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    listening = []

    def started(answer: Callable[[socket.socket, ssl.SSLContext, list[bytes]], None]) -> Server:
        pem = certificate(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        door = socket.create_server(("127.0.0.1", 0))
        listening.append(door)
        server = Server(f"https://127.0.0.1:{door.getsockname()[1]}", pem)

        def serve() -> None:
            while True:
                try:
                    connection, _ = door.accept()
                except OSError:
                    return
                try:
                    answer(connection, context, server.requests)
                except ssl.SSLError:  # the client does not trust us
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return server

    yield started
    for door in listening:
        door.close()


def client(server: Server) -> HttpClient:
    return HttpClient(server.url, server.url, lambda request: {}, ())


def test_a_record_that_breaks_after_the_request(start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may have done it: it is not sent again, and is not "not reached"."""
    server = start(breaking)
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    with pytest.raises(NoAnswer, match=r"the server did not answer \(SSLError\)"):
        client(server).post("/v1/commit", {"snapshot": 1})
    assert server.requests == [b"POST /v1/commit HTTP/1.1"]


@pytest.mark.parametrize("answer", [breaking, unsafe])
def test_without_a_safe_connection_nothing_is_sent(start: Callable[..., Server], answer: Callable[..., None]) -> None:
    """A certificate that nobody has signed; a server without TLS."""
    server = start(answer)
    with pytest.raises(NotReached, match=r"no safe connection: .*(CERTIFICATE_VERIFY_FAILED|WRONG_VERSION_NUMBER)"):
        client(server).post("/v1/commit", {"snapshot": 1})
    assert server.requests == []
