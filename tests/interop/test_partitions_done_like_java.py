"""Partitions are marked done as in Java: the same success files and reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import java_partitions
import pytest
from genuine import Genuine, table_path
from support.programs.report_service import ReportService, report_service

from paimon_spark import open_table
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.store.upkeep.partition_done import mark_partition_done

pytestmark = pytest.mark.interop

PARTS = ["dt=a,hour=1", "dt=x y/z=1,hour=2", "dt=ä"]


def day_table(java: Genuine, folder: Path) -> str:
    path = table_path(folder, "t")
    java.create(path, {"dt": "STRING", "hour": "INT", "v": "INT"}, partitions=["dt", "hour"], options={"bucket": "-1"})
    return path


def test_success_files_are_alike(java: Genuine, tmp_path: Path) -> None:
    theirs, ours = day_table(java, tmp_path / "theirs"), day_table(java, tmp_path / "ours")
    java.run(java_partitions.mark_done, theirs, {}, PARTS)
    marked = mark_partition_done(open_table(ours), ";".join(PARTS))
    places = [f"{directory}/_SUCCESS" for directory in marked.partitions]
    assert {str(path.relative_to(theirs)) for path in Path(theirs).rglob("_SUCCESS")} == set(places)
    for place in places:
        assert without_digits(Path(ours, place).read_text()) == without_digits(Path(theirs, place).read_text())
        created, changed = java.run(java_partitions.success_times, f"{ours}/{place}")
        assert created == changed


def test_each_marks_again_what_the_other_has_marked(java: Genuine, tmp_path: Path) -> None:
    path = day_table(java, tmp_path)
    mark_partition_done(open_table(path), PARTS[0])
    place = f"{path}/dt=a/hour=1/_SUCCESS"
    created = java.run(java_partitions.success_times, place)[0]
    java.run(java_partitions.mark_done, path, {}, PARTS[:1])
    theirs = java.run(java_partitions.success_times, place)
    mark_partition_done(open_table(path), PARTS[0])
    ours = java.run(java_partitions.success_times, place)
    assert theirs[0] == ours[0] == created
    assert created <= theirs[1] <= ours[1]


def without_digits(text: str) -> str:
    return "".join("9" if c.isdigit() else c for c in text)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReportService]:
    monkeypatch.setenv("no_proxy", "*")
    with report_service() as found:
        yield found


@pytest.mark.parametrize("params", [None, "a=1, grüße"])
@pytest.mark.parametrize("folder", ["plain", "shop.db"])
def test_reports_are_alike(
    java: Genuine, tmp_path: Path, service: ReportService, params: str | None, folder: str
) -> None:
    path = day_table(java, tmp_path / folder)
    options = {"partition.mark-done-action": "http-report", "partition.mark-done-action.http.url": service.url}
    options |= {} if params is None else {"partition.mark-done-action.http.params": params}
    java.run(java_partitions.mark_done, path, options, PARTS)
    mark_partition_done(open_table(path, options), ";".join(PARTS))
    theirs, ours = service.sent[: len(PARTS)], service.sent[len(PARTS) :]
    assert [report.body for report in ours] == [{**report.body, "path": path} for report in theirs]
    kinds = {report.content_type.lower().replace(" ", "") for report in service.sent}
    assert kinds == {"application/json;charset=utf-8"}


@pytest.mark.parametrize("action", ["done-partition", "mark-event", "custom"])
def test_what_both_refuse(java: Genuine, tmp_path: Path, action: str) -> None:
    path = day_table(java, tmp_path)
    options = {"partition.mark-done-action": action}
    with pytest.raises(RuntimeError, match=r"without metastore|custom\.class"):
        java.run(java_partitions.mark_done, path, options, PARTS)
    with pytest.raises(UnsupportedFeature, match=action):
        mark_partition_done(open_table(path, options), PARTS[0])
