"""A request is proposed anew in every attempt, and the commit hands back the proposal that it published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tables.commit_states import latest, live, with_rivals
from support.tables.files_by_hand import added, file, plain_table

from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.manifest_files import read_manifest_list
from paimon_spark.store.metadata.messages import CommitChanges, appended
from paimon_spark.store.metadata.table import Table

MERGING = {"manifest.merge-min-count": "3"}


def request(name: str) -> CommitRequest[tuple[str, ...]]:
    """Adds a file while the table has fewer than two; the detail names those that it found."""

    def propose(state: TableState) -> Proposal[tuple[str, ...]]:
        found = tuple(sorted(entry.file.file_name for entry in state.live_entries(None)))
        changes: CommitChanges | None = appended([added(file(name))])
        return Proposal(changes if len(found) < 2 else None, found)

    return CommitRequest(name, 1, CommitKind.APPEND, None, propose, checks_files=False)


def beside(table: Table, *names: str) -> Table:
    """The table, on which each attempt of ours finds that another job has just added a file."""
    return with_rivals(table, *(lambda n=n: TableCommit(table, n).append([added(file(n))]) for n in names))


def test_the_published_proposal_is_handed_back(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    made = commit_request(beside(table, "rival"), request("a"), 0)
    assert (made.snapshot_id, made.attempts) == (2, 2)
    assert made.proposal is not None
    assert made.proposal.detail == ("rival",)
    assert live(table) == {"rival", "a"}


def test_a_request_of_which_nothing_is_left_makes_no_snapshot(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    made = commit_request(beside(table, "r1", "r2"), request("a"), 0)
    assert (made.snapshot_id, made.attempts) == (None, 3)
    assert made.proposal == Proposal(None, ("r1", "r2"))
    assert table.snapshots.latest_id() == 2


def test_what_an_earlier_try_proposed_is_not_known(tmp_path: Path) -> None:
    table = plain_table(tmp_path)
    first = commit_request(table, request("a"), 0)
    again = commit_request(table, request("a"), 0)
    assert again.published == first.published
    assert (again.attempts, again.proposal) == (0, None)


def test_only_the_first_attempt_takes_the_time_to_merge_manifests(tmp_path: Path) -> None:
    """For others commit while it does."""

    def manifests(*rivals: Callable[[Table], object]) -> int:
        table = plain_table(tmp_path / str(len(rivals)))
        for number in range(3):
            TableCommit(table, f"user-{number}").append([added(file(f"f{number}"))])
        merging = with_rivals(table, *(partial(rival, table) for rival in rivals)).with_options(MERGING)
        TableCommit(merging, "mine").append([added(file("x"))])
        return len(read_manifest_list(table.file_io, table.location, latest(table).base_manifest_list))

    def other(table: Table) -> None:
        TableCommit(table, "rival").append([added(file("r"))])

    assert manifests() == 1
    assert manifests(other) == 4
