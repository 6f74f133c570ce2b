"""Dedicated compaction jobs: ours for a writer of Flink that never compacts, and Flink's own one beside our writers;
and branches that both write."""

from __future__ import annotations

from pathlib import Path

import pytest
from flink_conflicts import KEYS, OURS, ROWS, Job, Rows, model, until
from flink_session import FlinkSession, flink_session
from support.oracles.checker import check_table

from paimon_spark import open_table

pytestmark = pytest.mark.interop

STOPPING = {"bucket": "2", "write-only": "true", "num-sorted-run.stop-trigger": "2"}
KINDS = {
    "plain": {"bucket": "2", "write-only": "true"},
    "changelog": {"bucket": "2", "write-only": "true", "changelog-producer": "lookup"},
    "vectors": {"bucket": "2", "write-only": "true", "deletion-vectors.enabled": "true"},
}


def _waiting_files(job: Job) -> int:
    return int(job.open().system_table("files", "level", "level = 0").to_arrow().num_rows)


def test_a_writer_with_more_runs_than_its_stop_trigger(flink: FlinkSession, flink_warehouse: Path) -> None:
    """A write-only writer does not wait for a compaction; ours, which comes late and then again and again, will do."""
    job = Job(flink, flink_warehouse, "stopping", STOPPING)
    job.start()
    until(lambda: _waiting_files(job) > 4, "more runs wait than the trigger says")
    assert job.end == ""
    assert job.while_it_runs(lambda job: job.open(write_only="false").compact(full=False)) == "done"
    job.open(write_only="false").compact()
    assert _waiting_files(job) == 0
    assert job.rows() == job.rows_of_flink() == model()
    check_table(job.path)


@pytest.mark.parametrize("kind", KINDS)
def test_dedicated_compaction_of_flink(kind: str, tmp_path: Path) -> None:
    """A job of `sys.compact` that goes on, beside a writer of Flink and our writes: it never fails, so nothing waits in
    the end. It has a process of its own, because nothing but its end stops it."""
    with flink_session(str(tmp_path), tmp_path / "flink.log") as flink:
        flink.sql("CREATE DATABASE d")
        job = Job(flink, tmp_path, kind, KINDS[kind])
        seen: Rows = {}
        followed = job.open().stream(row_kinds=True, options={"scan.mode": "latest-full"})

        def follow() -> Rows:
            for batch in followed:
                for row in batch.to_arrow().to_pylist():
                    if row["_row_kind"] in ("+I", "+U"):
                        seen[row["k"]] = row["v"]
            return seen

        def act(job: Job) -> None:
            job.number += 1
            job.open().append({"k": [OURS, OURS + 1], "v": [job.number] * 2})
            job.open().write_stream([(job.number, [{"k": OURS + 2, "v": job.number}])], "ours")
            follow()

        flink.bounded(f"CALL sys.compact(`table` => 'd.{kind}')")  # first, as its start may take longer than the writer
        job.start()
        assert job.while_it_runs(act) == "done"
        expected = {**model(), **dict.fromkeys(range(OURS, OURS + 3), job.number)}
        until(lambda: _waiting_files(job) == 0 and follow() == expected, "all is compacted, and has been followed")
        assert job.rows() == job.rows_of_flink() == expected
        check_table(job.path)


def test_a_branch_that_both_write(flink: FlinkSession, flink_warehouse: Path) -> None:
    """We make a branch; a job of Flink and we write it, we compact it, and write the main one; then it is that."""
    job = Job(flink, flink_warehouse, "branched", {"bucket": "2"})
    job.open().append({"k": [OURS], "v": [0]})
    job.open().create_tag("before")
    job.open().create_branch("trial", tag="before")
    flink.define(
        "CREATE TEMPORARY TABLE source_branched (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = "
        f"'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{ROWS - 1}', 'rows-per-second' = '400')"
    )
    into = f"INSERT INTO d.`branched$branch_trial` /*+ OPTIONS('write-only' = 'true') */ SELECT MOD(n * 7, {KEYS}), n"
    flink.start("branched", f"{into} FROM source_branched")

    def act(job: Job) -> None:
        job.number += 1
        branch = open_table(job.path, {"branch": "trial"})
        branch.append({"k": [OURS + 1], "v": [job.number]})
        branch.compact(full=False)
        job.open().append({"k": [OURS], "v": [job.number]})

    assert job.while_it_runs(act) == "done"
    expected = {**model(), OURS: 0, OURS + 1: job.number}
    told = flink.sql("SELECT * FROM d.`branched$branch_trial`")
    assert {int(str(k)): int(str(v)) for _, (k, v) in told} == expected
    assert job.rows() == job.rows_of_flink() == {OURS: job.number}
    job.open().fast_forward("trial")
    assert job.rows() == job.rows_of_flink() == expected
    check_table(job.path)


def test_a_branch_to_fall_back_to(flink: FlinkSession, flink_warehouse: Path) -> None:
    """Partitions that the main branch lacks come from the other one, to both."""
    flink.sql(
        "CREATE TABLE d.fallen (p INT, k INT, v INT, PRIMARY KEY (p, k) NOT ENFORCED) PARTITIONED BY (p) "
        "WITH ('bucket' = '1')"
    )
    flink.sql("CALL sys.create_branch('d.fallen', 'other')")
    flink.sql("INSERT INTO d.`fallen$branch_other` VALUES (1, 1, 10), (2, 2, 20)")
    path = str(flink_warehouse / "d.db" / "fallen")
    open_table(path).append({"p": [1], "k": [9], "v": [90]})
    open_table(path).set_options({"scan.fallback-branch": "other"})
    theirs = sorted(tuple(int(str(v)) for v in row) for _, row in flink.sql("SELECT * FROM d.fallen"))
    assert theirs == [(1, 9, 90), (2, 2, 20)]
    assert sorted(tuple(row.values()) for row in open_table(path).scan().to_arrow().to_pylist()) == theirs
