"""Java renames over a snapshot that another process has made since it looked: its rename is under a lock of its own
process. What was replaced is not ours, and the commit is made again behind it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from support.oracles.checker import check_table

from paimon_spark import create_table, open_table
from paimon_spark.file_io import LocalFileIO


def replaces(monkeypatch: pytest.MonkeyPatch, theirs: Path, target: Path) -> None:
    """Java has looked, its temporary file is there, and it renames while we wait for it."""
    monkeypatch.setattr(time, "sleep", lambda seconds: theirs.exists() and theirs.replace(target))


def test_a_file_that_was_replaced_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, theirs = tmp_path / "snapshot-1", tmp_path / ".snapshot-1.8884e93d.tmp"
    theirs.write_bytes(b"theirs")
    replaces(monkeypatch, theirs, target)
    assert not LocalFileIO().create_if_absent(str(target), b"ours")
    assert target.read_bytes() == b"theirs"


def test_a_rival_that_comes_too_late_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looked after the link, and removes its temporary file."""
    target, theirs = tmp_path / "snapshot-1", tmp_path / ".snapshot-1.8884e93d.tmp"
    theirs.write_bytes(b"theirs")
    monkeypatch.setattr(time, "sleep", lambda seconds: theirs.unlink())
    assert LocalFileIO().create_if_absent(str(target), b"ours")
    assert target.read_bytes() == b"ours"


def test_what_dead_processes_have_left_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, of_another = tmp_path / ".snapshot-1.8884e93d.tmp", tmp_path / ".snapshot-10.8884e93d.tmp"
    left.touch()
    of_another.touch()
    os.utime(left, (time.time() - 60,) * 2)
    monkeypatch.delattr(time, "sleep")
    assert LocalFileIO().create_if_absent(str(tmp_path / "snapshot-1"), b"ours")


def test_one_of_the_future_is_not_waited_for_until_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process died, and the clock went back by an hour."""
    left = tmp_path / ".snapshot-1.8884e93d.tmp"
    left.touch()
    os.utime(left, (time.time() + 3600,) * 2)
    passed = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(passed)))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    assert LocalFileIO().create_if_absent(str(tmp_path / "snapshot-1"), b"ours")


def test_the_commit_is_made_again_behind_the_one_that_replaced_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, theirs = tmp_path / "t", tmp_path / "theirs"
    create_table(str(path), {"k": "INT", "v": "INT"}, primary_keys="k", options={"bucket": "1", "write-only": "true"})
    open_table(str(path)).append({"k": [1], "v": [1]})
    shutil.copytree(path, theirs)
    open_table(str(theirs)).append({"k": [2], "v": [2]})
    for folder in ("manifest", "bucket-0"):
        shutil.copytree(theirs / folder, path / folder, dirs_exist_ok=True)
    temporary = path / "snapshot" / ".snapshot-2.8884e93d.tmp"
    shutil.copy(theirs / "snapshot" / "snapshot-2", temporary)
    replaces(monkeypatch, temporary, path / "snapshot" / "snapshot-2")
    assert open_table(str(path)).append({"k": [3], "v": [3]}).snapshot_id == 3
    assert not temporary.exists()
    assert sorted(open_table(str(path)).scan().to_arrow()["k"].to_pylist()) == [1, 2, 3]
    check_table(str(path))
