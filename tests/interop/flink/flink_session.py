"""Apache Flink in a process of its own, with the Paimon connector: statements of Flink SQL, jobs that go on.

    with flink_session(warehouse) as flink:
        flink.sql("CREATE TABLE d.t (...)")
        flink.start("writer", "INSERT INTO d.t SELECT ...")
        flink.follow("reader", "SELECT * FROM d.t")

Flink 2.0.0 comes from Maven with all that it needs, once; the connector is the jar of the genuine Java that other tests
use, which was made for Flink 2.0. Jobs run in the same process. The process imports nothing of ours.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from genuine_jars import JavaUnavailable, paimon_jar, spark_jars
from support.servers.builds import ServerUnavailable, maven_classpath

Change = tuple[str, tuple[str | None, ...]]

FLINK = "2.0.0"
COORDINATES = tuple(
    f"org.apache.flink:{name}:{FLINK}"
    for name in (
        "flink-clients",
        "flink-table-api-java-bridge",
        "flink-table-planner-loader",
        "flink-table-runtime",
        "flink-connector-files",
        "flink-connector-datagen",
    )
)
SETTINGS = {
    "execution.target": "local",
    "execution.checkpointing.interval": "1 s",
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    "table.exec.sink.upsert-materialize": "NONE",
    "taskmanager.memory.managed.size": "32m",
    "taskmanager.memory.network.min": "32m",
    "taskmanager.memory.network.max": "32m",
    "taskmanager.numberOfTaskSlots": "8",
    "restart-strategy.type": "none",
    "rest.bind-address": "127.0.0.1",
}
_OPENED = (
    "java.base/java.util",
    "java.base/java.lang",
    "java.base/java.net",
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.util.concurrent",
    "java.base/java.time",
    "java.base/java.text",
)


def compile_linked_files(folder: Path) -> None:
    """Puts the file system `linked` into a folder of classes: a local disk on which processes share a table safely."""
    (folder / "META-INF" / "services").mkdir(parents=True)
    (folder / "META-INF" / "services" / "org.apache.paimon.fs.FileIOLoader").write_text("LinkedFileIO$Loader\n")
    source = Path(__file__).with_name("LinkedFileIO.java")
    subprocess.run(["javac", "-cp", str(paimon_jar("2.0.0")), "-d", str(folder), str(source)], check=True)


def java_with_flink(megabytes: int, classes: Path | None = None) -> list[str]:
    """The command that starts Java with Flink and the connector; the main class, or a file of Java, follows.

    Args:
        megabytes: of the heap.
        classes: a folder with more classes.

    Raises:
        JavaUnavailable, ServerUnavailable: one of them cannot be had here.
    """
    jars = f"{maven_classpath(*COORDINATES)}{os.pathsep}{paimon_jar('2.0.0')}"
    hadoop = spark_jars("hadoop-client-api", "hadoop-client-runtime")
    more = [str(classes)] if classes else []
    java = shutil.which("java")
    if java is None:
        raise JavaUnavailable("no java found")
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    settings = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", f"-Xmx{megabytes}m")
    return [java, *settings, *opened, "-cp", os.pathsep.join([jars, *hadoop, *more])]


class FlinkError(Exception):
    """Flink refuses a statement, or a job failed; with its words."""


class FlinkSession:
    """A process with Flink. Values of rows come as Flink prints them, NULL as None."""

    def __init__(self, warehouse: str, settings: Mapping[str, str], log: Path, classes: Path | None = None) -> None:
        given = [f"{key}={value}" for key, value in {**SETTINGS, **settings}.items()]
        self._process = subprocess.Popen(
            [*java_with_flink(2048, classes), str(Path(__file__).with_name("FlinkConsole.java")), *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("ab"),
            text=True,
        )
        self._answer("the start")
        self.define(
            f"CREATE CATALOG paimon WITH ('type' = 'paimon', 'warehouse' = '{warehouse}', 'cache-enabled' = 'false')"
        )
        self.define("USE CATALOG paimon")

    @property
    def pid(self) -> int:
        return self._process.pid

    def set(self, key: str, value: str) -> None:
        """A setting of the jobs that start from now on."""
        self._call("set", key, value)

    @contextmanager
    def resuming(self, savepoint: str) -> Iterator[None]:
        """Jobs that start within begin at a savepoint. What `set` has set is forgotten behind it."""
        self.set("execution.state-recovery.path", savepoint)
        try:
            yield
        finally:
            self._call("fresh")

    def define(self, statement: str) -> None:
        """Runs a statement for batch and for streams: of a catalog, or of temporary things."""
        self._call("define", statement)

    def sql(self, statement: str) -> list[Change]:
        """Runs a statement of batch to its end; the rows of its result."""
        return [_change(text) for text in self._call("sql", statement)]

    def bounded(self, statement: str) -> list[Change]:
        """Runs a statement as a stream that ends, to its end; the changes of its result."""
        return [_change(text) for text in self._call("bounded", statement)]

    def start(self, name: str, statement: str) -> None:
        """Starts a job of a stream that goes on; it may be ``EXECUTE STATEMENT SET BEGIN ...; ...; END``."""
        self._call("start", name, statement)

    def follow(self, name: str, query: str) -> None:
        """Starts a query of a stream; `changes` has what it said."""
        self._call("follow", name, query)

    def changes(self, name: str, first: int = 0) -> list[Change]:
        """What a query has said, from its `first` change on."""
        return [_change(text) for text in self._call("changes", name, str(first))]

    def end_of(self, name: str) -> str:
        """How a job or a query ended: "done", or why it failed; empty while it runs."""
        return self._call("status", name)[0]

    def finish(self, name: str) -> None:
        """Waits for the end of a job whose sources end.

        Raises:
            FlinkError: it failed.
        """
        self._call("await", name)

    def cancel(self, name: str) -> None:
        self._call("cancel", name)

    def stop(self, name: str, folder: str) -> str:
        """Stops a job with a savepoint; where that is."""
        return self._call("stop", name, folder)[0]

    def savepoint(self, name: str, folder: str) -> str:
        """A savepoint of a job that goes on; where that is."""
        return self._call("savepoint", name, folder)[0]

    def close(self) -> None:
        self._process.communicate()

    def kill(self) -> None:
        """Ends the process with all jobs, at once."""
        self._process.kill()
        self._process.communicate()

    def _call(self, *words: str) -> list[str]:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(" ".join(base64.b64encode(word.encode()).decode() for word in words) + "\n")
        stdin.flush()
        return self._answer(" ".join(words))

    def _answer(self, request: str) -> list[str]:
        stdout = self._process.stdout
        assert stdout is not None
        state, *words = stdout.readline().rstrip("\n").split(" ") or [""]
        texts = [base64.b64decode(word).decode() for word in words]
        if state != "ok":
            raise FlinkError(f"{request}: {' '.join(texts) or 'the process ended'}")
        return texts


@contextmanager
def flink_session(
    warehouse: str, log: Path, settings: Mapping[str, str] | None = None, classes: Path | None = None
) -> Iterator[FlinkSession]:
    """Flink on a warehouse.

    Args:
        warehouse: the directory; Flink's current catalog.
        log: a file for what Flink prints.
        settings: of Flink.
        classes: a folder with more classes.

    Raises:
        JavaUnavailable: Java, Flink or the connector cannot be had here.
    """
    try:
        session = FlinkSession(warehouse, settings or {}, log, classes)
    except ServerUnavailable as reason:
        raise JavaUnavailable(str(reason)) from reason
    try:
        yield session
    finally:
        session.close()


def values_of(changes: Sequence[Change]) -> list[tuple[str | None, ...]]:
    """The rows, in an order."""
    return sorted((row for _, row in changes), key=str)


def _change(text: str) -> Change:
    kind, *values = text.split("\x01")
    return kind, tuple(None if value == "\x02" else value for value in values)
