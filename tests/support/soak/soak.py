"""Starts the processes of a soak, kills them at random, lets them rest now and then, and compares."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from support.paths import ROOT, TESTS
from support.soak.expected import Different
from support.soak.journal import JournalReader, Outcome
from support.soak.place import Place
from support.soak.process import FINDING
from support.soak.rest import Kill, RestCheck
from support.soak.tables import create_all

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
    """

    name: str
    command: list[str]
    log: Path
    journal: Path
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
    """A run.

    Attributes:
        place: where; its folder is empty.
        seconds: how long, at least.
        rest_seconds: how long the processes work between two comparisons.
        kill_seconds: how long nobody is killed, at most; 0: nobody is.
        least_kills: it goes on until so many were killed.
        report: gets each line.
    """

    place: Place
    seconds: float
    rest_seconds: float = 180.0
    kill_seconds: float = 8.0
    least_kills: int = 0
    report: Callable[[str], None] = print
    kills: list[Kill] = field(default_factory=list)
    stops: int = 0
    rests: int = 0
    orphans: int = 0
    began: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Works, kills and compares until the time is over.

        Raises:
            Different: a table is not what it must be, or a process has met what must not be.
        """
        self.place.save()
        create_all(self.place)
        random, workers = Random(f"{self.place.seed} kills"), self._workers()
        try:
            while time.monotonic() < self.began + self.seconds or len(self.kills) < self.least_kills:
                for worker in workers:
                    worker.start()
                self._disturb(workers, random)
                self._rest(workers)
                self._compare()
        finally:
            for worker in workers:
                worker.send(signal.SIGKILL)
                if worker.process is not None:
                    worker.process.wait()

    def _workers(self) -> list[Worker]:
        writers = [f"writer{owner}" for owner in range(self.place.owners) if owner != self.place.java]
        made = [self._worker(name, ["-m", _PROGRAM]) for name in (*writers, "keeper", "reader", "copier")]
        if self.place.java is not None:
            made.append(self._worker(f"writer{self.place.java}", [str(_JAVA)]))
        return made

    def _worker(self, name: str, program: list[str]) -> Worker:
        command = [sys.executable, *program, name, str(self.place.folder)]
        return Worker(name, command, self.place.log(name), self.place.journal(name))

    # ------------------------------------------------------------------------------------------------------ disturbing

    def _disturb(self, workers: list[Worker], random: Random) -> None:
        """Kills processes, and stops some for a while, until they are to rest."""
        end = time.monotonic() + self.rest_seconds
        if len(self.kills) >= self.least_kills:
            end = min(end, self.began + self.seconds)
        while time.monotonic() < end:
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
            self.kills.append(Kill(worker.name, at))
            worker.start()

    def _stop_for_a_while(self, worker: Worker, workers: list[Worker], seconds: float, end: float) -> None:
        if worker.send(signal.SIGSTOP):
            self.stops += 1
            self._watch(workers, min(time.monotonic() + seconds, end))
            worker.send(signal.SIGCONT)

    def _watch(self, workers: list[Worker], until: float) -> None:
        """Waits, and looks whether a process has ended by itself."""
        while time.monotonic() < until:
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
        check = RestCheck(self.place)
        check.run(self.kills)
        self._compare_with_java()
        self.orphans += check.orphans
        self.rests += 1
        steps = sum(self.counts().values())
        self.report(
            f"{time.monotonic() - self.began:7.0f} s: {steps} steps, {len(self.kills)} kills, {self.stops} stops, "
            f"{self.orphans} orphans of killed processes, {sum(self.decided().values())} unknown outcomes decided; "
            f"all tables are as expected"
        )

    def _compare_with_java(self) -> None:
        if self.place.java is None:
            return
        command = [sys.executable, str(_JAVA), "check", str(self.place.folder)]
        worker = Worker("java-check", command, self.place.log("java-check"), self.place.journal("java-check"))
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
        killed = Counter(kill.process for kill in self.kills)
        lines = [f"seed {self.place.seed}, {time.monotonic() - self.began:.0f} s, tables in {self.place.root}"]
        lines += [f"  {count:7}  {what}" for what, count in sorted(self.counts().items())]
        lines += [f"  {count:7}  unknown, decided by {what}" for what, count in sorted(self.decided().items())]
        lines += [f"  {count:7}  kills of {what}" for what, count in sorted(killed.items())]
        lines += [f"  {self.stops:7}  stops for some seconds", f"  {self.rests:7}  comparisons of all tables"]
        lines += [f"  {self.orphans:7}  orphans, all of killed processes"]
        return "\n".join(lines)

    def save_summary(self, finding: str) -> None:
        summary = {"seed": self.place.seed, "finding": finding, "kills": [vars(kill) for kill in self.kills]}
        (self.place.folder / "summary.json").write_text(json.dumps(summary))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-_TAIL:] if path.exists() else ""
