"""Starts the processes of a soak, kills them at random, lets them rest now and then, and compares."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.paths import ROOT, TESTS
from support.soak.expected import Different
from support.soak.journal import JournalReader, Outcome
from support.soak.place import Place
from support.soak.process import FINDING
from support.soak.rest import RestCheck
from support.soak.tables import create_all
from support.soak.totals import Kill, Totals

_PROGRAM = "support.soak.work"
_JAVA = TESTS / "interop" / "java_soak.py"
_LONGEST_STEP = 1200.0
"""Seconds in which each process must come to rest."""
_TAIL = 3000


@dataclass
class Worker:
    """One process, which is started again where it was killed.

    Attributes:
        journal: of it; it has begun when that grows.
        lock: of the folder, which it inherits.
    """

    name: str
    command: list[str]
    log: Path
    journal: Path
    lock: int
    process: subprocess.Popen[bytes] | None = None
    _before: int = 0

    def has_begun(self) -> bool:
        """True if it has begun an operation since it was started; a slow machine may not let it for long."""
        return _size(self.journal) > self._before

    def start(self) -> None:
        self._before = _size(self.journal)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TESTS)])}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it is started often
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                pass_fds=[self.lock],
            )

    def send(self, what: signal.Signals) -> bool:
        """Sends a signal to it and what it has started. Returns: whether it was there."""
        if self.process is None or self.process.poll() is not None:
            return False
        os.killpg(self.process.pid, what)
        return True

    def status(self) -> int | None:
        """How it has ended; None: it has not."""
        return None if self.process is None else self.process.poll()


@dataclass
class Soak:
    """A run, which goes on where the last one in its folder has ended.

    Attributes:
        place: where.
        seconds: how long, at least; with 0 all is compared, and nobody is disturbed.
        rest_seconds: how long the processes work between two comparisons.
        kill_seconds: how long nobody is killed, at most; 0: nobody is.
        least_kills: it goes on until so many were killed.
        report: gets each line.
        is_ending: it comes to its last comparison now.
    """

    place: Place
    seconds: float
    rest_seconds: float = 180.0
    kill_seconds: float = 8.0
    least_kills: int = 0
    report: Callable[[str], None] = print
    is_ending: bool = False

    def __post_init__(self) -> None:
        self.totals = Totals.load(self.place.folder)
        self._before, self._began, self._lock = self.totals.seconds, time.monotonic(), -1
        self._cut_off: list[Kill] = []

    def run(self) -> None:
        """Works, kills and compares until the time is over. A comparison is the end of each run.

        Raises:
            Different: a table is not what it must be, or a process has met what must not be.
        """
        with self.place.locked() as self._lock:
            self.place.save()
            self.place.go_on()
            create_all(self.place)
            workers = self._workers()
            self._cut_off = [Kill(worker.name, time.time()) for worker in workers]  # as the last run may have been
            try:
                self._rounds(workers)
            finally:
                for worker in workers:
                    worker.send(signal.SIGKILL)
                    if worker.process is not None:
                        worker.process.wait()

    def _rounds(self, workers: list[Worker]) -> None:
        while True:
            for worker in workers:
                worker.start()
            self._disturb(workers, Random(f"{self.place.seed} kills {self.totals.rests}"))
            self._rest(workers)
            self._compare()
            if self._is_over():
                return

    def _is_over(self) -> bool:
        is_late = time.monotonic() >= self._began + self.seconds
        return self.is_ending or (is_late and len(self.totals.kills) >= self.least_kills)

    def _workers(self) -> list[Worker]:
        writers = [f"writer{owner}" for owner in range(self.place.owners) if owner != self.place.java]
        made = [self._worker(name, ["-m", _PROGRAM]) for name in (*writers, "keeper", "reader", "copier")]
        if self.place.java is not None:
            made.append(self._worker(f"writer{self.place.java}", [str(_JAVA)]))
        return made

    def _worker(self, name: str, program: list[str]) -> Worker:
        command = [sys.executable, *program, name, str(self.place.folder)]
        return Worker(name, command, self.place.log(name), self.place.journal(name), self._lock)

    # ------------------------------------------------------------------------------------------------------ disturbing

    def _disturb(self, workers: list[Worker], random: Random) -> None:
        """Kills processes, and stops some for a while, until they are to rest."""
        end = time.monotonic() + self.rest_seconds
        if len(self.totals.kills) >= self.least_kills:
            end = min(end, self._began + self.seconds)
        while time.monotonic() < end and not self.is_ending:
            pause = random.uniform(0.3, self.kill_seconds) if self.kill_seconds else self.rest_seconds
            self._watch(workers, min(time.monotonic() + pause, end))
            if time.monotonic() >= end or not self.kill_seconds:
                continue
            worker = random.choice(workers)
            if not worker.has_begun():
                continue
            if random.random() < 0.15:
                self._stop_for_a_while(worker, workers, random.uniform(1, 6), end)
            else:
                self._kill(worker)

    def _kill(self, worker: Worker) -> None:
        at = time.time()
        if worker.send(signal.SIGKILL) and worker.process is not None:
            worker.process.wait()
            self.totals.add_kill(Kill(worker.name, at))
            worker.start()

    def _stop_for_a_while(self, worker: Worker, workers: list[Worker], seconds: float, end: float) -> None:
        if worker.send(signal.SIGSTOP):
            self.totals.stops += 1
            self._watch(workers, min(time.monotonic() + seconds, end))
            worker.send(signal.SIGCONT)

    def _watch(self, workers: list[Worker], until: float) -> None:
        """Waits, and looks whether a process has ended by itself."""
        while time.monotonic() < until and not self.is_ending:
            for worker in workers:
                if worker.status() is not None:
                    raise Different(self._end_of(worker))
            time.sleep(0.1)

    def _rest(self, workers: list[Worker]) -> None:
        self.place.pause()
        self._wait(workers)
        self.place.go_on()

    def _wait(self, workers: list[Worker]) -> None:
        """Waits until processes have ended, as they do when they rest."""
        until = time.monotonic() + _LONGEST_STEP
        for worker in workers:
            while worker.status() is None:
                if time.monotonic() > until:
                    raise Different(f"{worker.name} does not end: {_tail(worker.log)}")
                time.sleep(0.05)
            if worker.status() != 0:
                raise Different(self._end_of(worker))

    def _end_of(self, worker: Worker) -> str:
        finding = self.place.folder / f"finding-{worker.name}.json"
        if worker.status() == FINDING and finding.exists():
            return f"{worker.name}: {finding.read_text()}"
        return f"{worker.name} ended with {worker.status()}: {_tail(worker.log)}"

    # ------------------------------------------------------------------------------------------------------- comparing

    def _compare(self) -> None:
        began, check = time.monotonic(), RestCheck(self.place)
        check.run([*self.totals.kills, *self._cut_off])
        self._compare_with_java()
        self.totals.orphans += check.orphans
        self.totals.rests += 1
        self.totals.seconds = self._before + time.monotonic() - self._began
        self.totals.save()
        self.report(
            f"{self.totals.seconds:7.0f} s: {sum(self.counts().values())} steps, {len(self.totals.kills)} kills, "
            f"{self.totals.stops} stops, {self.totals.orphans} orphans of killed processes, "
            f"{sum(self.decided().values())} unknown outcomes decided; all tables are as expected "
            f"(compared in {time.monotonic() - began:.0f} s)"
        )

    def _compare_with_java(self) -> None:
        if self.place.java is None:
            return
        command = [sys.executable, str(_JAVA), "check", str(self.place.folder)]
        log, journal = self.place.log("java-check"), self.place.journal("java-check")
        worker = Worker("java-check", command, log, journal, self._lock)
        worker.start()
        try:
            self._wait([worker])
        finally:
            worker.send(signal.SIGKILL)

    def counts(self) -> Counter[str]:
        """How many operations there were of each kind and outcome."""
        made: Counter[str] = Counter()
        for path in self.place.journal("x").parent.glob("*.jsonl"):
            by = path.stem if path.stem != f"writer{self.place.java}" else "Java"
            for step in JournalReader(path).read():
                refused = " (refused)" if step.outcome == Outcome.NOTHING and not step.decided else ""
                made[f"{by.rstrip('0123456789')}: {step.kind}{refused}"] += 1
        return made

    def decided(self) -> Counter[str]:
        """How unknown outcomes were decided, by how it was asked."""
        made: Counter[str] = Counter()
        for path in self.place.journal("x").parent.glob("writer*.jsonl"):
            for step in JournalReader(path).read():
                if step.decided:
                    made[f"{step.mode}: {step.decided}"] += 1
        return made

    def table(self) -> str:
        """What was done, in lines."""
        totals = self.totals
        killed = Counter(kill.process for kill in totals.kills)
        lines = [f"seed {self.place.seed}, {totals.seconds:.0f} s, tables in {self.place.root}"]
        lines += [f"  {count:7}  {what}" for what, count in sorted(self.counts().items())]
        lines += [f"  {count:7}  unknown, decided by {what}" for what, count in sorted(self.decided().items())]
        lines += [f"  {count:7}  kills of {what}" for what, count in sorted(killed.items())]
        lines += [f"  {totals.stops:7}  stops for some seconds", f"  {totals.rests:7}  comparisons of all tables"]
        lines += [f"  {totals.orphans:7}  orphans, all of killed processes"]
        return "\n".join(lines)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-_TAIL:] if path.exists() else ""
