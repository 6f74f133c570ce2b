"""Processor time of the processes of a Spark session, by what they are for (Linux), and calls to its JVM."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayClient

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> dict[str, float]:
    """Processor seconds of this process and of all below it, those that have ended too.

    Returns:
        `driver` is this process, `jvm` Spark, and each other name the module that a Python of Spark's runs.
    """
    below: dict[int, list[int]] = {}
    stats: dict[int, list[str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                values = (folder / "stat").read_text().rpartition(") ")[2].split()
            except OSError:  # it has ended
                continue
            stats[int(folder.name)] = values
            below.setdefault(int(values[1]), []).append(int(folder.name))
    found: Counter[str] = Counter()
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += below.get(pid, [])
        found[_name(pid)] += sum(int(value) for value in stats[pid][11:15]) / _TICKS
    return dict(found)


def _name(pid: int) -> str:
    if pid == os.getpid():
        return "driver"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return "ended"
    if words[0].endswith("java"):
        return "jvm"
    modules = [word for word in words if word.startswith("pyspark.") and word != "pyspark.daemon"]
    return modules[-1].rpartition(".")[2] if modules else Path(words[0]).name


class CountedCalls:
    """Calls of this process to the JVM, from here on: a count, which the load of a machine does not change."""

    def __init__(self) -> None:
        self.sent = 0
        for kind in (GatewayClient, *GatewayClient.__subclasses__()):
            if "send_command" in vars(kind):
                self._count(kind)

    def _count(self, kind: Any) -> None:
        send = kind.send_command

        def counted(client: Any, *command: Any, **more: Any) -> Any:
            self.sent += 1
            return send(client, *command, **more)

        kind.send_command = counted
