"""The table of conflicts of the page on Flink: each cell is a case, with its row as name, and each loss is one too."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from flink_conflicts import CONFLICT, OURS, ROWS, Job, Rows, Waiting, model, until
from flink_session import FlinkSession
from support.oracles.checker import check_table

from paimon_spark import check
from paimon_spark.errors import RowsNotVisible, UnsupportedFeature

pytestmark = pytest.mark.interop

PAGE = Path(__file__).parents[3] / "docs" / "compare" / "from-flink.md"
WRITE_ONLY = {"bucket": "2", "write-only": "true"}
COMPACTING = {"bucket": "2", "num-sorted-run.compaction-trigger": "2"}
COLUMNS = {"write-only": WRITE_ONLY, "compacting": COMPACTING}


def _agrees(job: Job, expected: Rows) -> None:
    """Both read these rows, and the table is whole."""
    assert job.rows() == expected
    assert job.rows_of_flink() == expected
    check_table(job.path)


def reads(job: Job) -> None:
    job.start()
    assert job.while_it_runs(Job.reads) == "done"
    _agrees(job, model())


def writes(job: Job) -> None:
    job.start()
    assert job.while_it_runs(lambda job: job.writes("true")) == "done"
    _agrees(job, {**model(), **job.our_rows()})


def compacting_writes(job: Job) -> None:
    job.start()
    assert job.while_it_runs(lambda job: job.writes("false")) == "done"
    _agrees(job, {**model(), **job.our_rows()})


def compacting_writes_of_both(job: Job) -> None:
    """The job fails, as with `compact`, and begins again; no row is lost."""
    job.start(restarts=True)
    assert job.while_it_runs(lambda job: job.writes("false")) == "done"
    _agrees(job, {**model(), **job.our_rows()})


def compact(job: Job) -> None:
    job.start()
    assert job.while_it_runs(lambda job: job.open().compact(full=True)) == "done"
    _agrees(job, model())


def both_compact(job: Job) -> None:
    """We come second: our buckets are left. The job comes second: it fails, and begins again with all rows."""
    job.start(rows=4 * ROWS)
    result = job.open().compact_in(Waiting(job), full=True)
    assert result.dropped
    assert result.snapshot_ids == ()
    assert "bucket meanwhile" in str(result)
    assert CONFLICT in job.while_it_runs(lambda job: job.open().compact(full=True))
    again = Job(job.flink, Path(job.path).parents[1], f"{job.name}_again", COMPACTING)
    again.start(restarts=True)
    assert again.while_it_runs(lambda job: job.open().compact(full=True)) == "done"
    _agrees(again, model())


def alter(job: Job) -> None:
    """The rows of the job have NULL in a new column until the job is started again."""
    job.start()
    with job.open().update_schema() as change:
        change.add_column("note", "STRING")
        change.rename_column("v", "value")
    job.open().set_options({"snapshot.num-retained.max": "50"})
    job.open(write_only="true").append({"k": [OURS], "value": [1], "note": ["ours"]})
    assert job.finish() == "done"
    _agrees(job, {**model(), OURS: 1})
    assert job.open().scan("k", where="note IS NOT NULL").to_arrow()["k"].to_pylist() == [OURS]


def _replaces(job: Job, replace: Callable[[Job], int], replaced: Rows) -> None:
    """Our state is there as a whole, and what the job commits later is added to it."""
    for _ in range(2):
        assert job.rows(replace(job)) == replaced
        job.wait_for_commits(1)
    assert job.finish() == "done"
    _agrees(job, {**model(), **replaced})


def overwrite(job: Job) -> None:
    job.start(restarts=job.name.endswith("compacting"))
    _replaces(
        job, lambda job: int(job.open(write_only="true").overwrite({"k": [OURS], "v": [1]}).snapshot_id), {OURS: 1}
    )


def truncate(job: Job) -> None:
    job.start(restarts=job.name.endswith("compacting"))
    _replaces(job, lambda job: int(job.open(write_only="true").truncate().snapshot_id), {})


def rollback_to_as_latest(job: Job) -> None:
    """What the job commits later is added to the rows of old, and what it committed before is removed."""
    rows = 4 * ROWS
    job.start(rows, restarts=job.name.endswith("compacting"), key="n")
    first = job.latest()
    before = job.rows(first)
    job.wait_for_commits(2)
    job.open().rollback_to_as_latest(snapshot=first)
    made = next(id for id in range(first + 1, job.latest() + 1) if job.rows(id) == before)
    assert made > first + 1
    assert job.finish() == "done"
    later = job.added_after(made)
    assert later
    assert {**job.rows(made - 1), **later} == {n: n for n in range(rows)}
    _agrees(job, {**before, **later})


def rollback(job: Job) -> None:
    """A job that does not notice; what was removed is missing, and what it commits later is there."""
    job.start(2 * ROWS, key="n")
    first = job.latest()
    before = job.rows(first)
    job.wait_for_commits(2)
    removed = job.rows().keys() - before.keys()
    assert removed
    job.open().rollback(snapshot=first)
    end = job.finish()
    assert end == "done" if job.name.endswith("write_only") else CONFLICT in end
    rows = job.rows()
    assert before.items() < rows.items()
    assert not removed <= rows.keys()
    _agrees(job, rows)


def rescale(job: Job) -> None:
    """A job that does not notice: files for two numbers of buckets, which `check` tells."""
    job.start()
    job.open().rescale(4)
    assert job.finish() == "done"
    _two_numbers_of_buckets(job)


def rescale_while_it_compacts(job: Job) -> None:
    """A job that fails when it commits a compaction, and at each start again."""
    job.start()
    job.open().rescale(4)
    assert "Total buckets of partition  changed from 4 to 2 without overwrite" in job.finish()
    _two_numbers_of_buckets(job)
    job.start()
    assert "Bucket data files has different total bucket number" in job.finish()


def _two_numbers_of_buckets(job: Job) -> None:
    assert "its files name 2 and 4 buckets" in str(check(job.path))


CASES: dict[str, tuple[Callable[[Job], None], Callable[[Job], None]]] = {
    "reads": (reads, reads),
    "writes": (writes, writes),
    "compacting writes": (compacting_writes, compacting_writes_of_both),
    "compact": (compact, both_compact),
    "alter": (alter, alter),
    "overwrite": (overwrite, overwrite),
    "truncate": (truncate, truncate),
    "rollback to as latest": (rollback_to_as_latest, rollback_to_as_latest),
    "rollback": (rollback, rollback),
    "rescale": (rescale, rescale_while_it_compacts),
}


def test_each_row_of_the_page_has_its_cases() -> None:
    table = PAGE.read_text().split("## While a Flink job writes")[1].split("losses come")[0]
    assert re.findall(r"^\| ([a-z ]+) \|", table, re.M) == ["case", *CASES]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", CASES)
def test_cell(row: str, column: str, flink: FlinkSession, flink_warehouse: Path) -> None:
    name = f"{row} {column}".replace(" ", "_").replace("-", "_")
    job = Job(flink, flink_warehouse, name, COLUMNS[column])
    CASES[row][list(COLUMNS).index(column)](job)


def test_row_changes_that_wait_for_the_job(flink: FlinkSession, flink_warehouse: Path) -> None:
    """Of a table with deletion vectors: rows that are not compacted are not seen, so they cannot be changed."""
    job = Job(flink, flink_warehouse, "waiting", {"bucket": "2", "deletion-vectors.enabled": "true"})
    job.start()
    job.open(write_only="true").append({"k": [OURS], "v": [1]})
    with pytest.raises(UnsupportedFeature, match="wait for a compaction"):
        job.open(write_only="true").delete(f"k = {OURS}")
    assert job.finish() == "done"
    job.open().compact()
    _agrees(job, {**model(), OURS: 1})


def test_loss_of_deletion_vectors(flink: FlinkSession, flink_warehouse: Path) -> None:
    """Both compact, and the job replaces the vectors that we have made meanwhile."""
    job = Job(flink, flink_warehouse, "vectors", {"bucket": "2", "deletion-vectors.enabled": "true"})
    job.start(rows=20 * ROWS, restarts=True)

    def lost() -> bool:
        with suppress(RowsNotVisible):  # the job has compacted the bucket meanwhile, again and again
            job.open().append({"k": [OURS], "v": [1]})
        return not check(job.path).is_good

    until(lost, "vectors are lost")
    assert "which is not live" in str(check(job.path))
    flink.cancel(job.name)


def test_no_loss_of_deletion_vectors(flink: FlinkSession, flink_warehouse: Path) -> None:
    """The job is write-only, and we compact and change rows."""
    job = Job(flink, flink_warehouse, "kept_vectors", {**WRITE_ONLY, "deletion-vectors.enabled": "true"})
    job.start()

    def act(job: Job) -> None:
        job.writes("false")
        job.open(write_only="false").compact()

    assert job.while_it_runs(act) == "done"
    job.open(write_only="false").compact()
    _agrees(job, {**model(), **job.our_rows()})


def test_loss_of_dynamic_buckets(flink: FlinkSession, flink_warehouse: Path) -> None:
    """The job writes the indexes of its buckets without the keys that another writer has put there."""
    options = {"bucket": "-1", "write-only": "true", "dynamic-bucket.target-row-num": "500"}
    job = Job(flink, flink_warehouse, "dynamic_buckets", options)
    job.start(key="n")
    assert (
        job.while_it_runs(lambda job: job.open().append({"k": list(range(10**6, 10**6 + 40)), "v": [1] * 40})) == "done"
    )
    assert "does not know 40 hashes that the file it replaces knew" in str(check(job.path))
    assert len(job.pairs()) > len(dict(job.pairs()))
