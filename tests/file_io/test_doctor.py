"""``paimon-spark doctor``: on a disk, on real storage servers, and on storages in which something is wrong."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from uuid import uuid4

import pytest
from support.programs.command_line import Printed, command
from support.programs.s3_server import s3_that_says
from support.servers.storage import RunningServers, StorageServer

from paimon_spark import create_table
from paimon_spark.file_io import LocalFileIO, file_io_for
from paimon_spark.file_io.doctor import Finding, Outcome, examine

STEPS = (
    *("packages", "java", "storage", "list", "read"),
    *("write", "large file", "names", "conditional create", "overwrite", "rename", "delete", "clock", "clean up"),
)
BAD, PROBLEMS = Outcome.BAD, 1
LOOKED = Barrier(4)  # racers of a careless storage, who have all looked when they write


def doctor(path: object, options: dict[str, str] | None = None, *more: str) -> Printed:
    given = [word for key, value in (options or {}).items() for word in ("-o", f"{key}={value}")]
    return command("doctor", str(path), *given, *more)


def lines_of(printed: Printed) -> dict[str, tuple[str, str]]:
    """The result and the sentence of each step."""
    names = (*STEPS, "table")
    found = {}
    for line in printed.out.splitlines():
        step = next(name for name in names if line.startswith(f"{name} "))
        outcome, _, message = line[len(step) :].strip().partition(" ")
        found[step] = (outcome, message.strip())
    return found


def test_a_disk(tmp_path: Path) -> None:
    place = tmp_path / "lake"
    place.mkdir()
    (place / "mine").write_text("kept")
    printed = doctor(place)
    found = lines_of(printed)
    assert printed.code == 0
    assert tuple(found) == (*STEPS, "table")
    assert {step: outcome for step, (outcome, _) in found.items() if outcome != "ok" and step != "java"} == {
        "table": "note"
    }
    assert found["conditional create"][1] == "10 races of 4 for one new name had one winner each: commits are safe"
    assert [path.name for path in place.iterdir()] == ["mine"]


def test_a_place_that_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    found = lines_of(doctor(tmp_path / "new" / "lake"))
    assert found["list"] == ("note", f"there is nothing at {tmp_path}/new/lake yet; the storage answers")
    assert found["conditional create"][0] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_table_and_json(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), {"id": "INT"})
    table.append({"id": [1]})
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    told = doctor(tmp_path / "t", None, "--output", "json").document
    assert told["good"]
    assert told["steps"][-1] == {"step": "table", "outcome": "ok", "message": "1 columns, the latest snapshot is 1"}
    assert [step["step"] for step in told["steps"]] == [*STEPS, "table"]
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    reading = lines_of(doctor(tmp_path / "t", None, "--read-only"))
    assert reading["read"][1].startswith(f"{tmp_path}/t/schema/schema-0 has ")
    assert {outcome for step, (outcome, _) in reading.items() if step in STEPS[5:]} == {"skipped"}


def test_a_server(server: StorageServer) -> None:
    """S3Proxy looks right until several write at once."""
    place = f"{server.root}/{uuid4().hex}"
    printed = doctor(place, dict(server.options))
    found = lines_of(printed)
    wrong = {step: told for step, (outcome, told) in found.items() if outcome == "failed"}
    if server.is_proved:
        assert (printed.code, wrong) == (0, {})
    else:
        assert printed.code == PROBLEMS
        assert wrong.keys() == {"conditional create"}
        assert "a catalog" in wrong["conditional create"]
        assert lines_of(doctor(place, server.writing))["conditional create"][0] == "note"
    assert file_io_for(place, server.options).list(place) == []


@pytest.mark.server
def test_broken_set_ups_of_s3(storage_servers: RunningServers) -> None:
    server = storage_servers.get("versitygw")
    good = dict(server.options)
    cases = {
        "the secret does not belong to the key": {**good, "s3.secret-key": "wrong"},
        "does not know the access key": {**good, "s3.access-key": "nobody"},
        "does not answer (Connection refused): check the option s3.endpoint": {
            **good,
            "s3.endpoint": "http://127.0.0.1:1",
        },
        "Missing SecretAccessKey: set the options": {key: good[key] for key in good if key != "s3.secret-key"},
        "'s3.endpoint' is 'ht!tp://x': expected an address": {**good, "s3.endpoint": "ht!tp://x"},
    }
    for sentence, options in cases.items():
        printed = doctor(f"{server.root}/t", options)
        found = lines_of(printed)
        assert (printed.code, found["list"][0]) == (PROBLEMS, "failed"), sentence
        assert sentence in found["list"][1]
        assert {outcome for step, (outcome, _) in found.items() if step in STEPS[4:]} == {"skipped"}
    missing = lines_of(doctor("s3://no-such-lake/t", good))
    assert "has no bucket 'no-such-lake'" in missing["list"][1]


def test_a_location_of_no_storage() -> None:
    printed = doctor("ftp://host/lake")
    assert printed.code == PROBLEMS
    assert lines_of(printed)["storage"][0] == "failed"
    assert "no store serves 'ftp://'" in lines_of(printed)["storage"][1]
    assert lines_of(doctor("s3://b/t", {"s3.acess-key": "k"}))["storage"][1].endswith("did you mean 's3.access-key'?")


def test_a_store_that_answers_everything_alike() -> None:
    with s3_that_says("403 Forbidden", "<Error><Code>AccessDenied</Code><Message>no</Message></Error>") as options:
        found = lines_of(doctor("s3://lake/t", options))
    assert found["list"] == ("failed", found["list"][1])
    assert "ask for the right to read, list, write and delete in the bucket 'lake'" in found["list"][1]


@dataclass(frozen=True)
class Careless(LocalFileIO):
    """A disk whose creation of a file looks first and writes then."""

    def create_if_absent(self, path: str, data: bytes) -> bool:
        if self.exists(path):
            return False
        if "race-" in path:
            LOOKED.wait()
        self.overwrite(path, data)
        return True


@contextmanager
def in_place_of_the_disk(io: LocalFileIO, patch: pytest.MonkeyPatch) -> Iterator[None]:
    with patch.context() as patched:
        patched.setattr("paimon_spark.file_io.doctor.file_io_for", lambda location, options: io)
        yield


def found_by(location: object, step: str) -> Finding:
    return next(found for found in examine(str(location), {}) if found.step == step)


def test_a_disk_on_which_races_have_several_winners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_place_of_the_disk(Careless(), monkeypatch):
        found = found_by(tmp_path, "conditional create")
    assert (found.outcome, found.message[:68]) == (
        BAD,
        "several writers were told at once that each created the same file, s",
    )


def test_clocks_that_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time
    for ahead, outcome, side in (
        (-3600, BAD, "ahead of"),
        (3600, BAD, "behind"),
        (-20, Outcome.NOTE, "ahead of"),
    ):
        monkeypatch.setattr("paimon_spark.file_io.doctor.time.time", lambda ahead=ahead: now() + ahead)
        found = found_by(tmp_path, "clock")
        told = re.search(r"(\d+) s (ahead of|behind)", found.message)
        assert told is not None
        assert (found.outcome, told[2]) == (outcome, side)
        assert abs(int(told[1]) - abs(ahead)) < 10  # a machine with much work lists a folder in seconds


def test_a_directory_that_may_not_be_written() -> None:
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o555)
        with as_another_user():
            found = {each.step: each for each in examine(made, {})}
    assert found["write"].outcome is BAD
    assert "give the user of this process the right to write" in found["write"].message
    assert found["conditional create"].outcome is Outcome.SKIPPED


@contextmanager
def as_another_user() -> Iterator[None]:
    """Root may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
