"""Starts a master and two workers of Spark as processes, and kills and pauses the executors of an application."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

WORKERS = 2
SECONDS_TO_START = 60
_EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
# A lost executor is missed after seconds, and a task is done again as often as its executors die.
SETTINGS = {
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "700m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "8",
    "spark.stage.maxConsecutiveAttempts": "1000",
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "3s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass
class Cluster:
    """A running cluster.

    Attributes:
        master: the address for SparkSession.builder.master.
        processes: of the master and the workers.
    """

    master: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def session(self, name: str) -> SparkSession:
        """A session whose tasks run on the cluster."""
        builder = SparkSession.builder.master(self.master).appName(name)
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A cluster whose workers keep their files in a folder; it ends with the block, and so do its executors."""
    port = _free_port()
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",  # else an application whose executors die ends
    }
    cluster = Cluster(f"spark://127.0.0.1:{port}")

    def start(*arguments: str) -> None:
        with (folder / f"{len(cluster.processes)}.log").open("wb") as log:
            command = [str(home / "bin/spark-class"), *arguments]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            cluster.processes.append(process)

    deploy = "org.apache.spark.deploy"
    host = ("--host", "127.0.0.1")
    try:
        start(f"{deploy}.master.Master", *host, "--port", str(port), "--webui-port", str(_free_port()))
        _wait_for("I have been elected leader", folder / "0.log")
        for number in range(WORKERS):
            resources = ("--cores", "2", "--memory", "2g", "--work-dir", str(folder / f"work{number}"))
            start(f"{deploy}.worker.Worker", *host, "--webui-port", str(_free_port()), *resources, cluster.master)
        for number in range(WORKERS):
            _wait_for("Successfully registered with master", folder / f"{number + 1}.log")
        yield cluster
    finally:
        cluster.stop()


def executors(application: str) -> list[int]:
    """The process ids of the executors of an application that run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
            if _EXECUTOR in command and application.encode() in command:
                found.append(int(entry.name))
    return found


def python_children(pid: int) -> list[int]:
    """The Python processes below an executor: the daemon, and its workers."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == pid:
                found += [int(entry.name), *python_children(int(entry.name))]
    return found


@dataclass
class Killer:
    """Kills an executor, or pauses one until it is taken for lost, some time after a deed has begun.

    Attributes:
        application: whose executors.
        draw: when and which.
        killed, paused: how many.
    """

    application: str
    draw: random.Random
    killed: int = 0
    paused: int = 0
    paused_seconds: float = 14.0  # more than spark.network.timeout
    _pauses: list[threading.Thread] = field(default_factory=list)

    @contextmanager
    def during(self, seconds: float, pauses: bool) -> Iterator[None]:
        """Within the block, after at most so many seconds, an executor dies, or stops for a while."""
        over = threading.Event()
        thread = threading.Thread(target=self._strike, args=(self.draw.uniform(0, seconds), pauses, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def wait_for_paused(self) -> None:
        """Returns when no executor is stopped any more; their tasks end then, though nobody waits for them."""
        for thread in self._pauses:
            thread.join()
        self._pauses.clear()

    def _strike(self, delay: float, pauses: bool, over: threading.Event) -> None:
        if over.wait(delay):
            return
        running = executors(self.application)
        if not running:
            return
        chosen = self.draw.choice(running)
        if pauses:
            pids = [chosen, *python_children(chosen)]
            _signal(pids, signal.SIGSTOP)
            self.paused += 1
            thread = threading.Thread(target=self._wake, args=(pids,))
            thread.start()
            self._pauses.append(thread)
        else:
            _signal([chosen], signal.SIGKILL)
            self.killed += 1

    def _wake(self, pids: list[int]) -> None:
        time.sleep(self.paused_seconds)
        _signal(pids, signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(text: str, log: Path) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while text not in log.read_text(errors="replace"):
        if time.monotonic() > until:
            raise TimeoutError(f"no '{text}' in {log} after {SECONDS_TO_START} s:\n{log.read_text()[-2000:]}")
        time.sleep(0.1)
