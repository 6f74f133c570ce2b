"""Rows that wait in temporary files: where, until when, and what is said of a disk that takes none."""

from __future__ import annotations

import errno
import os
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import exit_code_of

from paimon_spark.errors import CorruptFile, StorageError
from paimon_spark.store.read.sorted_runs import SortedChunks, spilled_run
from paimon_spark.store.storage.spill import SpillFolder

ROWS = pa.RecordBatch.from_pydict({"k": list(range(100_000))})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_no_folder_is_made_before_it_is_needed(place: Path) -> None:
    with SpillFolder("paimon-runs-") as folder:
        assert not list(place.iterdir())
        first, second = folder.new_file(), folder.new_file()
        assert (first.parent, first.parent.parent) == (second.parent, place)
        assert first != second
    assert not list(place.iterdir())


def test_rows_that_wait_are_read_again(place: Path) -> None:
    with SpillFolder("paimon-runs-") as folder:
        waiting = spilled_run(iter([ROWS, ROWS]), folder.new_file())
        assert list(waiting) == [ROWS, ROWS]
    assert not list(place.iterdir())


def without_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where all disks are read-only: Python tries each directory that it knows."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/no-such-place"])


def test_rows_that_need_not_wait_need_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_place(monkeypatch)
    with SortedChunks() as chunks:
        assert sum(run.rows for run in chunks.sort([ROWS], ["k"])) == 100_000


def test_there_is_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as FileNotFoundError, which would be a file of the table that is missing."""
    without_a_place(monkeypatch)
    with (
        SortedChunks(memory_bytes=0) as chunks,
        pytest.raises(StorageError, match="or set TMPDIR to a directory") as it,
    ):
        chunks.sort([ROWS], ["k"])
    assert not isinstance(it.value, FileNotFoundError)


def said_where(place: Path, limit: tuple[int, tuple[int, int]], action: Callable[[Path], object]) -> str:
    """The error of an action in a process of its own that has a limit."""
    said = place / "said"

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with SpillFolder("paimon-runs-") as folder:
            file = folder.new_file()
            resource.setrlimit(*limit)
            try:
                action(file)
            except StorageError as error:
                message = f"{errno.errorcode[error.errno or 0]} {error}"
            resource.setrlimit(limit[0], (limit[1][1], limit[1][1]))
        said.write_text(message)

    assert exit_code_of(run) == 0
    text = said.read_text()
    said.unlink()
    assert not list(place.iterdir())
    return text


def test_a_disk_that_refuses_bytes(place: Path) -> None:
    """The limit on the size of a file makes a real disk refuse real writes."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = resource.RLIMIT_FSIZE, (100_000, most)
    text = said_where(place, limit, lambda file: spilled_run(iter([ROWS]), file))
    assert text.startswith(f"EFBIG keeping rows that wait, in temporary files in {place}: ")
    assert text.endswith("(File too large), or set TMPDIR to a directory on a disk with room")


def test_no_file_can_be_opened(place: Path) -> None:
    """Another disk would not help."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = resource.RLIMIT_NOFILE, (0, most)
    text = said_where(place, limit, lambda file: spilled_run(iter([ROWS]), file))
    assert text == (
        f"EMFILE keeping rows that wait, in temporary files in {place}: this process may open no more files "
        "(Too many open files); raise its limit (ulimit -n), or close files"
    )


def test_an_error_of_the_rows_stays_what_it_is(place: Path) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield ROWS
        raise CorruptFile("a file of the table")

    with SpillFolder("paimon-runs-") as folder, pytest.raises(CorruptFile, match="a file of the table"):
        spilled_run(rows(), folder.new_file())
    with SpillFolder("paimon-runs-") as folder, pytest.raises(FileNotFoundError):
        spilled_run(map(os.stat, [place / "lost"]), folder.new_file())  # type: ignore[arg-type]  # it gives none
    assert not list(place.iterdir())
