"""The requests that a storage server gets, as a proxy before it writes them down, which also delays them."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from support.servers.storage import StorageServer, free_port, running

ENDPOINT = "s3.endpoint"
_PROGRAM = Path(__file__).parent.parent / "programs" / "recording_proxy.py"


@dataclass(frozen=True)
class StoreRequest:
    """A request and when it was on its way.

    Attributes:
        kind: GET, PUT, HEAD, DELETE, POST, or LIST.
        target: its path and query.
        range: the header of that name, or "".
        began, ended: seconds of the clock of the proxy's machine.
        received: bytes of the body of the answer.
        status: of the answer.
    """

    kind: str
    target: str
    range: str
    began: float
    ended: float
    received: int
    status: int


def counted(requests: Sequence[StoreRequest]) -> dict[str, int]:
    """How many there are of each kind."""
    return dict(sorted(Counter(request.kind for request in requests).items()))


def round_trips(requests: Sequence[StoreRequest]) -> int:
    """The most requests that had to wait for each other: each began after the one before it had ended."""
    rounds, free_from = 0, 0.0
    for request in sorted(requests, key=lambda request: request.ended):
        if request.began >= free_from:
            rounds, free_from = rounds + 1, request.ended
    return rounds


class RecordedServer:
    """A storage server that is reached through the proxy.

    Attributes:
        server: as StorageServer, with the address of the proxy.
    """

    def __init__(self, server: StorageServer, log: Path) -> None:
        self.server = server
        self._log = log
        self._read = 0

    def since_last(self) -> list[StoreRequest]:
        """The requests that were answered since the last call."""
        lines = self._log.read_text().splitlines()
        new, self._read = lines[self._read :], len(lines)
        return [StoreRequest(**json.loads(line)) for line in new]


@contextmanager
def recorded(server: StorageServer, delay_seconds: float = 0.0, throttled: int = 0) -> Iterator[RecordedServer]:
    """Runs a proxy before a server of S3 while the block lasts.

    Args:
        delay_seconds: how long each request waits in the proxy before the server gets it.
        throttled: which request is refused as one too many: each that is so many after the last; 0: none.
    """
    with tempfile.TemporaryDirectory(prefix="recording-proxy-") as folder, free_port() as port:
        log = Path(folder) / "requests"
        log.touch()
        upstream = server.options[ENDPOINT].rpartition(":")[2]
        command = [sys.executable, str(_PROGRAM), str(port), upstream, str(delay_seconds), str(log), str(throttled)]
        with running(command, Path(folder), port):
            options = {**server.options, ENDPOINT: f"http://127.0.0.1:{port}"}
            yield RecordedServer(replace(server, options=options, domain=""), log)
