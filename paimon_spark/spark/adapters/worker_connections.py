"""The connection between a Python worker of Spark and its JVM, on which a task waited for 40 ms.

The JVM sends a task in several small messages. TCP sends the second of them when the first is acknowledged (Nagle's
algorithm), and Linux acknowledges with the answer, or after 40 ms if none is sent; a worker answers a task when it has
all of it. Spark has mended this for its servers of state (SPARK-51667), not for its workers.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_FILES = "/proc/self/fd"
_TCP = socket.AF_INET, socket.AF_INET6
_THIS_MACHINE = "127.", "::1"


class SentToWorker:
    """A mixin of what Spark pickles for a task: a worker that unpickles it acknowledges what it has read."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        acknowledge()


def acknowledge() -> None:
    """Acknowledges what this process has read of its connections to this machine, and lets them send without delay.

    Elsewhere than on Linux, where a process cannot ask for that, it does nothing.
    """
    acknowledges_now = getattr(socket, "TCP_QUICKACK", None)
    if acknowledges_now is None or not os.path.isdir(_FILES):
        return
    for name in os.listdir(_FILES):
        with suppress(OSError):  # it is no socket, or closed by now, or it has no other end
            connection = socket.socket(fileno=int(name))
            try:
                if connection.family in _TCP and connection.getpeername()[0].startswith(_THIS_MACHINE):
                    connection.setsockopt(socket.IPPROTO_TCP, acknowledges_now, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            finally:
                connection.detach()  # it is not ours to close
