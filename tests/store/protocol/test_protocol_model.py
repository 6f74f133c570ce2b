"""Every order of the steps of small scenarios keeps the invariants of the protocol, and each of its rules is needed.

The largest scenarios have millions of states. They are explored where PAIMON_LONG=1, or by name:

    PAIMON_LONG=1 pytest tests/store/protocol/test_protocol_model.py -k rollback_and_writers
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.long_runs import LONG
from support.model.explorer import Checks, Explorer, Report
from support.model.invariants import CHECKS
from support.model.mutations import Mutation as M
from support.model.scenarios import SCENARIOS

PROTOCOL = Path(__file__).parents[3] / "docs" / "internals" / "protocol.md"
LARGE = (
    "rollback_and_writers",
    "withdrawn_and_expired",
    "two_streams",
    "two_expiries",
    "expiry_and_tag_killed",
)
"""Scenarios of more than 30,000 states."""
BROKEN = {"two_streams": "C2"}
"""Scenarios that break an invariant, with its number. The page of the protocol names them."""
FOUND: dict[M, tuple[str, str]] = {
    M.TRIAL_IN_TURN: ("a_racy_storage", "S1"),
    M.LOOK_BEFORE_LOCK: ("a_racy_storage_with_a_lock", "S2"),
    M.NO_LOCK: ("a_racy_storage_with_a_lock", "S2"),
    M.PUBLISH_FIRST: ("two_writers", "C1"),
    M.OVERWRITE: ("two_writers", "C1"),
    M.NO_LOOK_FOR_OWN: ("one_name_twice", "C2"),
    M.NO_CONFLICT_CHECK: ("two_compactions", "C3"),
    M.CHECKED_ONCE: ("two_compactions", "C3"),
    M.NO_GROUND_CHECK: ("ids_used_again", "C4"),
    M.HINT_READ_ONCE: ("withdrawn_and_expired", "R1"),
    M.HINT_FIRST: ("ids_used_again", "C4"),
    M.STALE_WITHDRAWAL: ("ids_used_again", "C4"),
    M.NO_BASE_CHECK: ("rollback_and_writer", "C5"),
    M.NO_OVERTAKEN_CHECK: ("overtaken", "C6"),
    M.DELETE_IN_DOUBT: ("no_answer_ever", "C7"),
    M.ABORT_DELETES_INPUTS: ("two_compactions", "C8"),
    M.ABORT_LEAVES_FILES: ("two_compactions", "C8"),
    M.OWN_CLOCK: ("two_writers", "C9"),
    M.NO_LOOK_AFTER_HINT: ("rollback_and_writer", "C10"),
    M.NO_HINT_BEFORE_ROLLBACK: ("ids_used_again", "C4"),
    M.NO_HINT_AFTER_ROLLBACK: ("rollback_and_writer", "C10"),
    M.HINT_SETTLED_ONCE: ("rollback_and_writer", "C10"),
    M.LOST_IS_OLD: ("lost_newest", "C10"),
    M.NO_TABLE_CHECK: ("dropped", "C11"),
    M.READ_ANY_TABLE: ("dropped_while_read", "C11"),
    M.EXPIRE_ANY_TABLE: ("dropped_while_expired", "C11"),
    M.ROW_IDS_ONCE: ("two_writers", "C12"),
    M.COLUMN_UNCHECKED: ("columns", "C13"),
    M.COLUMN_OF_NOTHING: ("columns", "C13"),
    M.COLUMNS_LEFT: ("columns", "C13"),
    M.ICEBERG_BY_ID: ("iceberg", "C14"),
    M.ICEBERG_FAILS: ("iceberg_blocked", "C14"),
    M.ICEBERG_TAKES_LATER: ("iceberg", "C14"),
    M.HOLDS_BEFORE_MARK: ("expiry_and_tag", "E1"),
    M.DELETE_WHILE_READING: ("tagged_and_expired", "E2"),
    M.SKIP_DAMAGED: ("damaged_tag", "E2"),
    M.SNAPSHOTS_FIRST: ("expiry_finished", "E3"),
    M.MARK_GOES_FIRST: ("expiry_finished", "E3"),
    M.NO_LOOK_BEFORE_SNAPSHOTS: ("two_expiries_and_a_way_back", "E4"),
    M.ALL_MARKS_COUNT: ("mark_above_all", "E5"),
    M.MARKS_BY_ID: ("withdrawn_and_expired", "C5"),
    M.ANY_FIRST: ("withdrawn_and_expired", "C5"),
    M.EXPIRE_IN_DOUBT: ("withdrawn_and_expired", "E6"),
    M.STOP_AT_REFUSAL: ("refused_file", "E7"),
    M.NO_SEARCH: ("stream", "E8"),
    M.NONE_UNSEEN: ("unseen_batch", "E8"),
    M.MARKS_BEFORE_HOLD: ("expiry_and_tag", "H1"),
    M.HOLDS_IGNORED: ("expiry_and_tag", "H2"),
    M.NO_HOLD: ("expiry_and_tag", "H1"),
    M.HOLDS_OF_ALL_AGES_GO: ("holds_of_today", "H3"),
    M.OLD_HOLDS_STAY: ("holds_of_a_crash", "H3"),
    M.HOLD_MUST_GO: ("refused_hold", "H4"),
    M.DELETION_LOOKS_FIRST: ("copy_and_deletion", "H5"),
    M.COPY_LOOKS_FIRST: ("copy_and_deletion", "H5"),
    M.TAGS_LEFT_OUT: ("tagged_and_expired", "T1"),
    M.BRANCHES_LEFT_OUT: ("branch_shares_files", "E3"),
    M.TAG_FILES_STAY: ("last_tag", "T2"),
    M.NEIGHBOURS_LEFT_OUT: ("tags_share_files", "T2"),
    M.DELETION_UNMARKED: ("last_tag", "T3"),
    M.TAG_OVERWRITES: ("one_name_for_two_tags", "T4"),
    M.NO_LOOK_AFTER_TAG: ("rollback_and_tag", "T5"),
    M.OLDEST_FIRST: ("killed_rollback_and_writer", "R1"),
    M.NO_LOOK_AFTER_ROLLBACK: ("rollback_and_writer", "R2"),
    M.STALE_LOOK: ("forward", "R2"),
    M.TAGS_STAY: ("rollback_and_tag", "R3"),
    M.TARGET_LAST: ("rollback_to_tag", "R4"),
    M.LINEAGE_BY_ID: ("forward", "R5"),
    M.NO_REVIVAL_MARK: ("revived", "R6"),
    M.READ_TWO: ("reader", "F1"),
    M.EXPIRED_IS_LOST: ("reader_and_expiry", "F2"),
    M.TAG_AFTER_PLAN: ("tagged_read", "F3"),
    M.READ_TAG_GOES: ("tagged_read", "F4"),
    M.USED_BEFORE_LISTED: ("orphans", "F5"),
    M.ANY_AGE: ("orphans", "F5"),
}
"""By mutation the scenario in which it breaks an invariant, and the number of that."""


def explored(scenario: str, mutation: M | None = None, checks: Checks = CHECKS) -> Report:
    return Explorer(SCENARIOS[scenario](mutation), checks).explore(most=40_000_000)


@pytest.mark.skipif(not LONG, reason="it has millions of states: set PAIMON_LONG=1")
@pytest.mark.parametrize("scenario", BROKEN)
def test_what_the_protocol_does_not_hold_is_known(scenario: str) -> None:
    assert BROKEN[scenario] in " ".join(explored(scenario).broken).split()
    assert f"`{scenario}`" in PROTOCOL.read_text()


def told(report: Report) -> str:
    return "\n".join([str(sorted(report.broken)), *(f"{who}: {what} {path}" for who, what, path in report.trace)])


@pytest.mark.parametrize("scenario", [n for n in SCENARIOS if (LONG or n not in LARGE) and n not in BROKEN])
def test_all_orders_keep_the_invariants(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = explored(scenario)
    assert not report.broken, told(report)
    assert report.complete
    if LONG:
        with capsys.disabled():
            print(f"\n  {scenario}: {report.states} states, {report.steps} steps, {report.seconds:.1f} s", end="")


@pytest.mark.parametrize("mutation", [m for m, (name, _) in FOUND.items() if LONG or name not in LARGE])
def test_each_rule_is_needed(mutation: M) -> None:
    """Without it, some order of steps breaks the invariant."""
    scenario, invariant = FOUND[mutation]
    report = explored(scenario, mutation, CHECKS.only(invariant))
    assert report.broken, report


def test_every_invariant_has_a_mutation_that_breaks_it() -> None:
    stated = re.findall(r"^\*\*([A-Z]\d+)\.\*\*", PROTOCOL.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(M) == set(FOUND)
    assert sorted({number for _, number in FOUND.values()}) == sorted(set(stated))
    assert sorted(CHECKS.numbers()) == sorted(set(stated))
