"""A table that is named by a path, a version or a time: what is refused, and with which advice."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_spark import check, open_catalog, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError, SnapshotNotFound


def test_a_relative_path_without_a_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for asked in (open_table, open_catalog, check):
        with pytest.raises(OptionError, match=r"'one' is relative to the working directory .* removed: write"):
            asked("one")


def test_the_time_that_a_message_shows_can_be_given(tmp_path: Path) -> None:
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())])))
    for time in ("2099-01-01", "2099-01-01 12:30:00", "2099-01"):
        with pytest.raises(OptionError, match="has no zone: add one, such as") as caught:
            open_table(str(tmp_path), timestamp=time)
        shown = re.findall("such as '(.*?)'", str(caught.value))
        with pytest.raises(SnapshotNotFound):  # of an empty table
            open_table(str(tmp_path), timestamp=shown[0]).scan()
