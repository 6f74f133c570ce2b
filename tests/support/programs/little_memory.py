"""Does something with a table in a process that may use little more memory than it has; prints what came of it as JSON.

``python little_memory.py PATH MEGABYTES SMALL``: each of READS and WRITES once, in this order. SMALL is the path of a
table that fits into memory, to which all is done first. ENVIRONMENT is that of the process.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paimon_spark import check
from paimon_spark.errors import PaimonError
from paimon_spark.tables.open import open_table

ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}  # others reserve more than they use
TOLERANT = {"scan.ignore-corrupt-files": "true"}
READS: Mapping[str, Callable[[Any], object]] = {
    "read": lambda table: table.scan().to_arrow(),
    "tolerant read": lambda table: table.with_options(TOLERANT).scan().to_arrow(),
    "batches": lambda table: list(table.scan().to_batches()),
    "check": lambda table: check(table.location),
}
WRITES: Mapping[str, Callable[[Any], object]] = {
    "update": lambda table: table.update("true", {"v": "'new'"}),
    "compact": lambda table: table.compact(full=True),
}


def limit(megabytes: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)


def outcome(action: Callable[[], object]) -> tuple[str, str]:
    try:
        action()
    except PaimonError as error:
        return type(error).__name__, str(error)
    return "", ""


if __name__ == "__main__":
    location, megabytes = sys.argv[1], int(sys.argv[2])
    threading.stack_size(2**19)
    table = open_table(location)
    small = open_table(sys.argv[3])
    for action in (*READS.values(), *WRITES.values()):  # all is imported, and all threads run
        action(small)
    limit(megabytes)
    print(json.dumps({name: outcome(lambda: action(table)) for name, action in {**READS, **WRITES}.items()}))  # noqa: B023
