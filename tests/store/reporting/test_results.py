"""How the result of a call looks when it is printed."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field, is_dataclass
from typing import get_type_hints

import pytest

from paimon_spark import CompactResult, ExpireSnapshotsResult, PaimonTable, WriteResult
from paimon_spark.spark.merge_into.clauses import MergeBuilder
from paimon_spark.spark.table.table_api import TableOptimizer
from paimon_spark.store.clean.truncate import TruncateResult
from paimon_spark.store.reporting.result import Result, millis_since

WRITTEN = "WriteResult(rows=3, files=2, bytes=900, millis=8, snapshot_id=1"


@dataclass(frozen=True, repr=False)
class Done(Result):
    rows: int
    snapshot_id: int | None
    paths: tuple[str, ...] = ()
    names: dict[str, int] = field(default_factory=dict)
    inner: Done | None = None
    millis: int = 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Done(0, None), "Done(rows=0, snapshot_id=None)"),
        (Done(3, 7, ("a",), {"x": 1}, None, 5), "Done(rows=3, snapshot_id=7, paths=('a',), names={'x': 1}, millis=5)"),
        (Done(3, 7, tuple("abcdefgh")), "Done(rows=3, snapshot_id=7, paths=('a', 'b', 'c', 'd', 'e', 'f', ...))"),
        (Done(3, 7, inner=Done(1, 2)), "Done(rows=3, snapshot_id=7, inner=Done(rows=1, snapshot_id=2))"),
        (WriteResult(3, 2, 900, 8, 1, CompactResult()), f"{WRITTEN})"),
        (WriteResult(3, 2, 900, 8, 1, CompactResult(millis=4)), f"{WRITTEN})"),  # 4 ms to see that nothing is due
        (
            WriteResult(3, 2, 900, 8, 1, CompactResult((2,), buckets=1, millis=4)),
            f"{WRITTEN}, "
            "compaction=CompactResult(snapshot_ids=(2,), buckets=1, millis=4))",
        ),
        (ExpireSnapshotsResult(), "ExpireSnapshotsResult()"),
        (TruncateResult((), 0, 0, 9, 4, 7), "TruncateResult(files=0, bytes=0, rows=9, millis=4, snapshot_id=7)"),
    ],
)  # fmt: skip
def test_a_result_tells_what_is_not_default(value: Result, text: str) -> None:
    assert repr(value) == text


@pytest.mark.parametrize("owner", [PaimonTable, TableOptimizer])
def test_every_result_of_a_call_is_printed_alike(owner: type) -> None:
    calls = [call for name, call in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_")]
    results = [result for call in calls if is_dataclass(result := get_type_hints(call).get("return"))]
    assert len(results) >= (2 if owner is TableOptimizer else 20)
    results = [result for result in results if result is not MergeBuilder]
    assert [result for result in results if not issubclass(result, Result)] == []  # type: ignore[arg-type]
    assert [result for result in results if "__repr__" in vars(result)] == []


def test_a_duration_is_in_milliseconds() -> None:
    now = time.monotonic()
    assert 2000 <= millis_since(now - 2) <= 2000 + 1000 * (time.monotonic() - now) + 1
