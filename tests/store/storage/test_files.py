"""Files that nobody needs are deleted as far as the store lets them be."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.faults.refusing import Refusing

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.paths import MAX_ID_DIGITS
from paimon_spark.store.storage.files import discard, read_hint


def left(root: Path, io: FileIO) -> list[str]:
    """What is left of three files."""
    paths = [root / name for name in "abc"]
    for path in paths:
        path.write_bytes(b"1")
    discard(io, (str(path) for path in [*paths, root / "absent"]))
    return sorted(path.name for path in root.iterdir())


class InBulk(LocalFileIO):
    """A store where one request for each file takes too long."""

    def delete(self, path: str) -> None:
        raise AssertionError(f"{path} is deleted on its own")


def test_all_go_by_one_request(tmp_path: Path) -> None:
    assert left(tmp_path, InBulk()) == []


def test_a_bulk_request_that_fails_is_made_up_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert left(tmp_path, FaultyFileIO(LocalFileIO(), 0, named="!delete")) == []
    assert caplog.text == ""


def test_what_was_never_made_is_not_left_behind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A disk that is read-only refuses to delete any name."""
    assert left(tmp_path, Refusing(LocalFileIO(), lambda path: True)) == ["a", "b", "c"]
    assert [record.args[0] for record in caplog.records if record.args] == [f"{tmp_path}/{name}" for name in "abc"]


def test_one_that_stays_holds_up_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert left(tmp_path, Refusing(LocalFileIO(), lambda path: path.endswith("a"))) == ["a"]
    assert f"left behind {tmp_path}/a, which no snapshot names: no access" in caplog.text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7), (" 7\n", 7), ("9" * MAX_ID_DIGITS, int("9" * MAX_ID_DIGITS)), ("9" * (MAX_ID_DIGITS + 1), None),
        ("", None), ("-1", None), ("1.5", None), ("\u0663", None), ("x", None),
    ],
)  # fmt: skip
def test_hints_that_are_numbers(tmp_path: Path, text: str, number: int | None) -> None:
    (tmp_path / "LATEST").write_text(text)
    assert read_hint(LocalFileIO(), f"{tmp_path}/LATEST") == number
    assert read_hint(LocalFileIO(), f"{tmp_path}/none") is None
