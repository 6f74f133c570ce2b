"""A worker acknowledges what it has read of its JVM: so the JVM sends the rest of a task at once."""

from __future__ import annotations

import ast
import os
import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.spark.adapters.tasks import in_worker
from paimon_spark.spark.adapters.worker_connections import SentToWorker, acknowledge
from paimon_spark.spark.source.format_writer import FormatSourceWriter
from paimon_spark.spark.source.reader import PaimonReader
from paimon_spark.spark.source.writer import PaimonWriter
from paimon_spark.spark.spark_catalog.scans import AggregatingReader, PlannedReader
from paimon_spark.spark.stream_sink.writer import PaimonStreamWriter
from paimon_spark.spark.stream_source.stream_reader import PaimonStreamReader

TCP = socket.IPPROTO_TCP
QUICKACK = getattr(socket, "TCP_QUICKACK", 0)
OF_LINUX = pytest.mark.skipif(not QUICKACK, reason="only Linux lets a process ask for acknowledgements")


class Sent(SentToWorker):
    def __init__(self) -> None:
        self.number = 7


@pytest.fixture(params=["127.0.0.1", "::1"])
def late(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    """A connection of this machine that acknowledges late, as one does after some questions and answers."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with ExitStack() as closing:
        server = closing.enter_context(socket.socket(family))
        try:
            server.bind((request.param, 0))
        except OSError:
            pytest.skip(f"this machine has no address {request.param}")
        server.listen()
        mine = closing.enter_context(socket.create_connection(server.getsockname()[:2]))
        other = closing.enter_context(server.accept()[0])
        mine.setsockopt(TCP, QUICKACK, 0)
        assert (mine.getsockopt(TCP, QUICKACK), mine.getsockopt(TCP, socket.TCP_NODELAY)) == (0, 0)
        yield mine
        other.sendall(b"still open")
        assert mine.recv(10) == b"still open"


def is_prompt(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(TCP, QUICKACK) and connection.getsockopt(TCP, socket.TCP_NODELAY))


@OF_LINUX
def test_connections_of_this_machine_acknowledge_at_once(late: socket.socket, tmp_path: Path) -> None:
    with ExitStack() as closing:
        for each in socket.socketpair():
            closing.enter_context(each)
        closing.enter_context((tmp_path / "file").open("wb"))
        acknowledge()
    assert is_prompt(late)


@OF_LINUX
def test_what_is_sent_to_a_worker_acknowledges_when_it_arrives(late: socket.socket) -> None:
    sent = pickle.dumps(Sent())
    assert not is_prompt(late)
    assert pickle.loads(sent).number == 7
    assert is_prompt(late)


@OF_LINUX
def test_a_task_acknowledges_before_it_asks_for_rows(spark: SparkSession) -> None:
    def prompt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = []
        for name in os.listdir("/proc/self/fd"):
            try:
                each = socket.socket(fileno=int(name))
            except OSError:
                continue
            if each.family == socket.AF_INET:
                found.append(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            each.detach()
        yield pa.record_batch({"prompt": pa.array(found, pa.int32())})
        for _ in batches:
            pass

    rows = spark.range(1).mapInArrow(in_worker(prompt), "prompt int").collect()
    assert rows
    assert all(row.prompt for row in rows)


def test_where_no_process_can_ask_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_QUICKACK", raising=False)
    acknowledge()


def test_readers_and_writers_of_spark_are_sent_so() -> None:
    kinds = PaimonReader, PlannedReader, AggregatingReader, PaimonStreamReader
    writers = PaimonWriter, FormatSourceWriter, PaimonStreamWriter
    assert all(issubclass(kind, SentToWorker) for kind in (*kinds, *writers))


def test_every_function_of_a_task_is_sent_so() -> None:
    found = []
    for path in Path(paimon_spark.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("mapInArrow", "arrow_udf"):
                found.append(ast.unparse(node.args[0]))
    assert len(found) > 10
    assert [text for text in found if not text.startswith("in_worker(")] == []
