"""A job of Flink is stopped with a savepoint, a stream of ours writes its table on, with the same keys, and the job
goes on from its savepoint over what we have committed, compacted and expired; and so again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from flink_conflicts import KEYS, Job, Rows, model, until
from flink_session import FlinkSession
from pyspark.sql import SparkSession
from support.oracles.checker import check_table

from paimon_spark import PaimonTable
from paimon_spark.tables.stream import ChangeStream

pytestmark = pytest.mark.interop

ROWS = 8_000
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
KINDS = {
    "sum": {**SUM, "bucket": "2", "changelog-producer": "lookup"},
    "sum of a dedicated compaction": {**SUM, "bucket": "2", "write-only": "true"},
    "sum in dynamic buckets": {**SUM, "bucket": "-1", "dynamic-bucket.target-row-num": "60"},
    "sum in postponed buckets": {**SUM, "bucket": "-2"},
    "sum with vectors": {**SUM, "bucket": "2", "deletion-vectors.enabled": "true"},
}
BATCH = [{"k": k, "v": 10**6} for k in range(0, KEYS + 20)]  # most keys are those of the job


def sums(rows: int, batches: int) -> Rows:
    """What the job and so many batches of ours make."""
    made: Rows = {}
    for n in range(rows):
        made[n * 7 % KEYS] = made.get(n * 7 % KEYS, 0) + n
    for row in BATCH * batches:
        made[row["k"]] = made.get(row["k"], 0) + row["v"]
    return made


def _agrees(job: Job, expected: Rows) -> None:
    assert job.rows() == expected
    assert job.rows_of_flink() == expected
    check_table(job.path)


def _resume(job: Job, savepoint: str) -> None:
    with job.flink.resuming(savepoint):
        job.start(rows=ROWS)


@pytest.mark.parametrize("kind", KINDS)
def test_takeover_and_back(kind: str, flink: FlinkSession, flink_warehouse: Path) -> None:
    """Twice there and back; the expiry leaves the last snapshot of the job, as the page says. One stream of ours
    follows the changes all the time."""
    name = "takeover_" + kind.replace(" ", "_")
    job = Job(flink, flink_warehouse, name, KINDS[kind])
    followed: ChangeStream = job.open().stream(options={"scan.mode": "latest-full"})
    job.start(rows=ROWS)
    for number in range(2):
        savepoint = job.stop(flink_warehouse / "savepoints")
        last = job.latest()
        for batch in range(2):
            stream = [(number * 2 + batch, BATCH)]
            job.open().write_stream(stream, "ours", {"write-only": "false"})
            _poll(followed)
        job.open().compact()
        _poll(followed)
        kept = job.latest() - last + 1
        job.open().expire_snapshots(retain_max=kept, retain_min=kept, older_than="2999-01-01 00:00:00")
        assert job.open().snapshots.ids()[0] == last
        _resume(job, savepoint)
        job.wait_for_commits(1)
    assert job.finish() == "done"
    job.open().compact()
    _poll(followed)
    _agrees(job, sums(ROWS, 4))


def _poll(stream: ChangeStream) -> None:
    """Reads what there is; it must not fail."""
    for batch in stream:
        batch.to_arrow()


def test_takeover_by_structured_streaming(
    spark: SparkSession, flink: FlinkSession, flink_warehouse: Path, tmp_path: Path
) -> None:
    """The same with a stream of Spark, which has a checkpoint of its own and goes on from it the second time."""
    job = Job(flink, flink_warehouse, "takeover_spark", {**SUM, "bucket": "2", "changelog-producer": "lookup"})
    job.start(rows=ROWS)
    incoming, checkpoint = str(tmp_path / "incoming"), str(tmp_path / "checkpoint")
    for _ in range(2):
        savepoint = job.stop(flink_warehouse / "savepoints")
        spark.createDataFrame(BATCH, "k long, v long").coalesce(1).write.mode("append").json(incoming)
        rows = spark.readStream.schema("k long, v long").json(incoming)
        table = PaimonTable.forPath(spark, job.path)
        query = table.write_stream(rows, checkpoint=checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        table.optimize().compact()
        _resume(job, savepoint)
        job.wait_for_commits(1)
    assert job.finish() == "done"
    _agrees(job, sums(ROWS, 2))


@pytest.mark.parametrize("expiry", ["ours", "Java's"])
@pytest.mark.parametrize("tagged", [True, False])
def test_loss_of_a_savepoint(tagged: bool, expiry: str, flink: FlinkSession, flink_warehouse: Path) -> None:
    """A savepoint that is older than all snapshots of its job: a sum counts the rows of the last commit twice where a
    tag has kept their files, else the job fails. It does not matter whose expiry it was."""
    name = f"old_savepoint_{tagged}_{expiry[0]}".lower()
    job = Job(flink, flink_warehouse, name, {**SUM, "bucket": "2", "sink.savepoint.auto-tag": str(tagged).lower()})
    flink.set("execution.checkpointing.interval", "4 s")
    job.start(rows=ROWS)
    flink.set("execution.checkpointing.interval", "1 s")
    bursts = time.monotonic() + 1.5  # the source has one each second
    until(lambda: time.monotonic() > bursts, "rows follow the last commit")
    savepoint = job.stop(flink_warehouse / "savepoints")
    again = _last_commit(job)
    assert any(again.values())
    job.open().append(BATCH)
    job.open().compact()
    _expire_all(job, expiry)
    with flink.resuming(savepoint):
        job.start(rows=ROWS, restarts=tagged)  # Flink fails once by intent behind what it restored
    end = job.finish()
    if tagged:
        assert end == "done"
        assert job.rows() == {k: v + again.get(k, 0) for k, v in sums(ROWS, 1).items()}
    else:
        assert "Cannot recover from this checkpoint" in end


def _last_commit(job: Job) -> Rows:
    """What the last checkpoint of the job added: one snapshot or two."""
    told = job.open().system_table("snapshots", "snapshot_id, commit_identifier").to_arrow().to_pylist()
    last = max(row["commit_identifier"] for row in told)
    before = job.rows(min(row["snapshot_id"] for row in told if row["commit_identifier"] == last) - 1)
    return {k: v - before.get(k, 0) for k, v in job.rows().items()}


def _expire_all(job: Job, expiry: str) -> None:
    older = "2999-01-01 00:00:00"
    if expiry == "ours":
        job.open().expire_snapshots(retain_max=1, retain_min=1, older_than=older)
    else:
        job.flink.sql(
            f"CALL sys.expire_snapshots(`table` => 'd.{job.name}', retain_max => 1, retain_min => 1, "
            f"older_than => '{older}')"
        )


def test_models_agree() -> None:
    """That of sums, and the one of upserts."""
    assert sums(KEYS, 0) == model(KEYS)
    assert len(sums(0, 1)) == KEYS + 20
