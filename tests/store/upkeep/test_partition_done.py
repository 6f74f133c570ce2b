"""Marking partitions done: files, reports by HTTP, what is refused, and when a write does it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO
from support.programs.report_service import SUCCESS, Report, ReportService, report_service
from support.tables.compacting import make, write
from support.tables.files_by_hand import added, file, partition

from paimon_spark.errors import CorruptFile, OptionError, PaimonError, PartitionNotMarked, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.store.commit.partition_registration import check_registration
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.partition_done import RETRIES, HttpReport, mark_partition_done, mark_written_partitions

DAY_AND_HOUR = pa.schema([("dt", pa.string()), ("hour", pa.int32()), ("v", pa.int64())])


def table_of(path: Path, schema: pa.Schema = DAY_AND_HOUR, parts: int = 2, **options: str) -> Table:
    given = {"bucket": "-1", **{f"partition.{key.replace('_', '-')}": value for key, value in options.items()}}
    return make(path, schema, [], given, schema.names[:parts])


def successes(table: Table) -> dict[str, dict[str, int]]:
    root = Path(table.location)
    return {str(p.parent.relative_to(root)): json.loads(p.read_text()) for p in root.rglob("_SUCCESS")}


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_file_in_the_directory(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    write(table, [("a", 1, 1)])
    done = mark_partition_done(table, "dt=a,hour=1")
    assert (done.partitions, done.actions) == (("dt=a/hour=1",), ("success-file",))
    first = successes(table)
    assert list(first) == ["dt=a/hour=1"]
    assert first["dt=a/hour=1"]["creationTime"] == first["dt=a/hour=1"]["modificationTime"] > 1_700_000_000_000


def test_a_partition_without_files_is_marked_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = table_of(tmp_path / "t")
    write(table, [("a", 1, 1)])
    mark_partition_done(table, "dt=a,hour=1")
    assert caplog.messages == []
    mark_partition_done(table, "dt=a,hour=2")
    assert caplog.messages == [f"marking dt=a/hour=2/ of {table.location} done: there is no file of such a partition"]


def test_again_it_keeps_when_it_was_made(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    place = Path(table.location, "dt=a", "hour=1")
    place.mkdir(parents=True)
    (place / "_SUCCESS").write_text('{"modificationTime": 2, "other": true, "creationTime": 1}')
    mark_partition_done(table, [{"dt": "a", "hour": 1}])
    (found,) = successes(table).values()
    assert found["creationTime"] == 1
    assert found["modificationTime"] > 1_700_000_000_000


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_a_file_of_another_system(tmp_path: Path, content: str) -> None:
    table = table_of(tmp_path / "t")
    place = Path(table.location, "dt=a")
    place.mkdir()
    (place / "_SUCCESS").write_text(content)
    with pytest.raises(CorruptFile, match="_SUCCESS"):
        mark_partition_done(table, "dt=a")
    assert (place / "_SUCCESS").read_text() == content


def test_several(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    done = mark_partition_done(table, "dt=a,hour=1; hour=2 , dt=a/b ;dt=c")
    assert done.partitions == ("dt=a/hour=1", "dt=a%2Fb/hour=2", "dt=c")
    assert set(successes(table)) == set(done.partitions)


@pytest.mark.parametrize(
    ("kind", "value", "legacy", "directory"),
    [
        (pa.string(), "", "true", "p=__DEFAULT_PARTITION__"),
        (pa.string(), None, "true", "p=__DEFAULT_PARTITION__"),
        (pa.int32(), "__DEFAULT_PARTITION__", "true", "p=__DEFAULT_PARTITION__"),
        (pa.int32(), "007", "true", "p=7"),
        (pa.date32(), "2026-11-01", "true", "p=20758"),
        (pa.date32(), "2026-11-01", "false", "p=2026-11-01"),
        (pa.date32(), date(2026, 11, 1), "true", "p=20758"),
        (pa.bool_(), "TRUE", "true", "p=true"),
        (pa.timestamp("ms"), "2026-11-01 10:00:00", "true", "p=2026-11-01T10%3A00"),
        (pa.timestamp("ms", "UTC"), "2026-11-01 10:00:00", "true", "p=2026-11-01T10%3A00"),
        (pa.timestamp("ms", "UTC"), "2026-11-01 10:00:00+01:00", "false", "p=2026-11-01 09%3A00%3A00.000"),
    ],
)
@pytest.mark.usefixtures("shanghai")
def test_directories_of_values(tmp_path: Path, kind: pa.DataType, value: Any, legacy: str, directory: str) -> None:
    table = table_of(tmp_path / "t", pa.schema([("p", kind), ("v", pa.int32())]), 1, legacy_name=legacy)
    mark_partition_done(table, [{"p": value}])
    assert list(successes(table)) == [directory]


@pytest.mark.parametrize(
    ("partitions", "why"),
    [
        ("", "names no partition"),
        ("dt", "names no partition"),
        ("dt=a;", "names no partition"),
        ("hour=1", "first partition columns"),
        ("day=1", "they are dt, hour"),
        ("dt=a,v=1", "they are dt, hour"),
        ("dt=a,hour=x", "hour: cannot read 'x' as INT"),
        ([{}], "first partition columns"),
    ],
)
def test_what_names_no_partition(tmp_path: Path, partitions: Any, why: str) -> None:
    table = table_of(tmp_path / "t")
    with pytest.raises(OptionError, match=why):
        mark_partition_done(table, partitions)
    assert successes(table) == {}


def test_a_table_without_partitions(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="they are none"):
        mark_partition_done(make(tmp_path / "t", DAY_AND_HOUR, [], {"bucket": "-1"}), "dt=a")


@pytest.mark.parametrize(
    ("action", "error", "why"),
    [
        ("done-partition", UnsupportedFeature, "'done-partition', which needs a metastore"),
        ("success-file,mark_event", UnsupportedFeature, "'mark-event', which needs a metastore"),
        ("CUSTOM", UnsupportedFeature, "'custom', which is a class of Java"),
        ("mail", OptionError, "expected success-file, http-report"),
        ("success-file,http-report", OptionError, "needs the option 'partition.mark-done-action.http.url'"),
    ],
)
def test_actions_that_are_refused(tmp_path: Path, action: str, error: type[PaimonError], why: str) -> None:
    table = table_of(tmp_path / "t", mark_done_action=action)
    with pytest.raises(error, match=why):
        mark_partition_done(table, "dt=a")
    assert successes(table) == {}


def test_a_write_that_could_not_mark_is_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", mark_done_action="mark-event")
    check_registration(table)
    ending = table.with_options({"partition.end-input-to-done": "true"})
    words = r"'partition\.mark-done-action' has 'mark-event', which needs a metastore"
    with pytest.raises(UnsupportedFeature, match=words):
        check_registration(ending)
    with pytest.raises(UnsupportedFeature, match="this action, which is a class of Java"):
        check_writable(ending.schema, ending.with_options({"partition.mark-done-action": "custom"}).settings)


def test_whatever_fails_the_file_is_whole(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    for at in range(10):
        faulty = FaultyFileIO(LocalFileIO(), at=at)
        failing = replace(table, file_io=faulty)
        with suppress(OSError):
            mark_partition_done(failing, "dt=a")
        for found in successes(table).values():
            assert found.keys() == {"creationTime", "modificationTime"}
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


# --- reports --------------------------------------------------------------------------------------------------------


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReportService]:
    monkeypatch.setenv("no_proxy", "*")
    with report_service() as found:
        yield found


def report_to(service: ReportService) -> HttpReport:
    return HttpReport(service.url, None, "db.t", "/db.db/t", wait=lambda seconds: None)


def test_a_report(tmp_path: Path, service: ReportService) -> None:
    options = {"mark_done_action": "http-report", "mark-done-action.http.url": service.url}
    table = table_of(tmp_path / "shop.db" / "t", **options, **{"mark-done-action.http.params": "grüße, a=b"})
    mark_partition_done(table, "dt=a/b,hour=1;dt=c")
    body = {"table": "shop.t", "path": table.location, "params": "grüße, a=b"}
    assert service.sent == [
        Report("POST", "/done?key=secret", "application/json; charset=UTF-8", {**body, "partition": partition})
        for partition in ("dt=a%2Fb/hour=1/", "dt=c/")
    ]


def test_a_table_outside_of_a_warehouse(tmp_path: Path, service: ReportService) -> None:
    options = {"mark_done_action": "http-report,success-file", "mark-done-action.http.url": service.url}
    table = table_of(tmp_path / "x" / "t", **options)
    mark_partition_done(replace(table, branch="b"), "dt=a")
    assert [(report.body["table"], report.body["params"]) for report in service.sent] == [("t$branch_b", None)]
    assert list(successes(table)) == ["dt=a"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((200, {}, b'{"result": "FAILED"}'), "result 'FAILED'"),
        ((200, {}, b"{}"), "result None"),
        ((200, {}, b"[]"), "result None"),
        ((200, {}, b""), "no JSON"),
        ((200, {}, b"SUCCESS"), "no JSON"),
        ((200, {}, b"[" * 20_000), "no JSON"),
        ((200, {}, b" " * 2**20 + b'{"result": "SUCCESS"}'), "no JSON"),
        ((500, {}, b'{"result": "SUCCESS"}'), "the answer was 500"),
        ((404, {}, b""), "the answer was 404"),
    ],
)
def test_a_service_that_does_not_agree(
    service: ReportService, answer: tuple[int, dict[str, str], bytes], why: str
) -> None:
    service.answers = [answer]
    with pytest.raises(PartitionNotMarked, match=why) as caught:
        report_to(service).send("dt=a/")
    assert "secret" not in str(caught.value)
    assert len(service.sent) == 1


def test_a_service_that_is_busy(service: ReportService) -> None:
    service.answers = [(503, {}, b""), (429, {"Retry-After": "7"}, b""), (503, {"Retry-After": "soon"}, b""), SUCCESS]
    waits: list[float] = []
    HttpReport(service.url, None, "t", "/t", wait=waits.append).send("dt=a/")
    assert len(service.sent) == 4
    assert (1 <= waits[0] <= 1.1, waits[1], 4 <= waits[2] <= 4.4) == (True, 7, True)


def test_a_service_that_stays_busy(service: ReportService) -> None:
    service.answers = [(503, {}, b"")]
    with pytest.raises(PartitionNotMarked, match="503"):
        report_to(service).send("dt=a/")
    assert len(service.sent) == RETRIES + 1


def test_a_service_that_is_not_there(service: ReportService) -> None:
    port = service.url.split(":")[2].split("/")[0]
    with pytest.raises(PartitionNotMarked, match=r"refused|URLError|reset"):
        HttpReport(service.url.replace(port, "1"), None, "t", "/t").send("dt=a/")


def test_a_service_that_is_silent() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)  # listens, and nobody accepts
    url = f"http://127.0.0.1:{server.server_port}/"
    with pytest.raises(PartitionNotMarked, match="time"):
        HttpReport(url, None, "t", "/t", timeout=0.05).send("dt=a/")
    server.server_close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x", "host/x", " "])
def test_only_http(url: str) -> None:
    with pytest.raises(OptionError, match="http://"):
        HttpReport(url, None, "t", "/t")


def test_a_failed_report_marks_nothing_after_it(tmp_path: Path, service: ReportService) -> None:
    service.answers = [(500, {}, b"")]
    options = {"mark_done_action": "http-report,success-file", "mark-done-action.http.url": service.url}
    table = table_of(tmp_path / "t", **options)
    with pytest.raises(PartitionNotMarked):
        mark_partition_done(table, "dt=a")
    assert successes(table) == {}


# --- after a write --------------------------------------------------------------------------------------------------

ONE_DAY = pa.schema([("part", pa.string()), ("v", pa.int64())])


def test_the_partitions_of_a_write(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", ONE_DAY, 1)
    messages = [added(file("a"), part=partition("x")), added(file("b"), part=partition("x"), bucket=1)]
    messages.append(added(file("c"), part=partition(None)))
    mark_written_partitions(table, messages)
    assert successes(table) == {}
    mark_written_partitions(table.with_options({"partition.end-input-to-done": "true"}), messages)
    assert set(successes(table)) == {"part=x", "part=__DEFAULT_PARTITION__"}


def test_a_table_without_partitions_has_nothing_to_mark(tmp_path: Path) -> None:
    table = make(tmp_path / "t", ONE_DAY, [], {"bucket": "-1", "partition.end-input-to-done": "true"})
    mark_written_partitions(table, [added(file("a"))])
    assert successes(table) == {}


def test_a_mark_that_fails_does_not_make_a_write_fail(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = table_of(tmp_path / "t", ONE_DAY, 1, end_input_to_done="true")
    messages = [added(file("a"), part=partition("x"))]
    with caplog.at_level(logging.WARNING):
        mark_written_partitions(replace(table, file_io=FaultyFileIO(LocalFileIO(), at=0, lasting=True)), messages)
    assert "mark_partition_done does it" in caplog.text
