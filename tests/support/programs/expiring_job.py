"""Run by tests: a job that expires snapshots after its commit, as its options say, and ends or is interrupted.

python expiring_job.py TABLE ends           the job ends at once; the expiry begins when it has ended
python expiring_job.py TABLE waits          the same, but the job first says "ready" and waits for a signal
python expiring_job.py TABLE interrupted    the expiry says "ready" before its first deletion, and waits for a signal
python expiring_job.py TABLE forks          a job that was forked does it too
python expiring_job.py TABLE late           the job commits when it is ending already
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.tables.open import open_table


@dataclass
class AfterTheEnd:
    """A store that answers the thread beside the job when Python is ending, and takes no more jobs for its pools."""

    inner: FileIO

    def __getattr__(self, name: str) -> Any:
        if threading.current_thread() is not threading.main_thread():
            with ThreadPoolExecutor(1) as pool:
                while is_open(pool):
                    threading.Event().wait(0.01)
        return getattr(self.inner, name)


@dataclass
class Waits:
    """A store that waits for a signal before the first deletion."""

    inner: FileIO
    waited: bool = False

    def __getattr__(self, name: str) -> Any:
        if name == "delete_many" and not self.waited:
            self.waited = True
            wait_for_signal()
        return getattr(self.inner, name)


def is_open(pool: ThreadPoolExecutor) -> bool:
    try:
        pool.submit(int)
    except RuntimeError:
        return False
    return True


def wait_for_signal() -> None:
    """Says "ready". A signal that comes just before a wait without end would not end it."""
    print("ready", flush=True)
    while True:
        threading.Event().wait(0.01)


def main(location: str, what: str) -> None:
    mode = "sync" if what == "interrupted" else "async"
    table = open_table(location, {"write-only": "false", "snapshot.expire.execution-mode": mode})
    if what == "interrupted":
        maintain(replace(table, file_io=Waits(LocalFileIO())))
        return
    if what == "late":
        atexit.register(maintain, table)
        return
    if what == "forks":
        maintain(table)
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    maintain(replace(table, file_io=AfterTheEnd(LocalFileIO())))
    if what == "waits":
        wait_for_signal()


if __name__ == "__main__":
    main(*sys.argv[1:])
