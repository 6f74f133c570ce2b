"""Options of reads and writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.format.options.connector_keys import CONNECTOR_KEYS
from paimon_spark.spark.adapters.options import ReadOptions, read_options, write_options
from paimon_spark.spark.stream_sink.options import _OWN, stream_options
from paimon_spark.store.stream_source.settings import ON_EXPIRED, STREAM
from paimon_spark.writes.options import _ONCE_ALIASES, DYNAMIC_OVERWRITE, READ_ONLY, WRITE_ONLY, WriteOptions


def test_connector_options_are_distinguished_from_table_options_in_any_letter_case() -> None:
    assert read_options({"Path": "/t", "COLUMNS": "a, B", "Filter": "a > 1", "Scan.Snapshot-Id": "3"}) == ReadOptions(
        "/t", ("a", "B"), "a > 1", False, False, {"Scan.Snapshot-Id": "3"}
    )
    assert read_options({"path": "/t", "Time-Zone": "+01:00"}) == ReadOptions("/t", time_zone="+01:00")
    assert write_options({"path": "/t", "TIME-ZONE": "+01:00"}) == WriteOptions("/t", time_zone="+01:00")
    assert read_options({"path": "/t", "Row-Kinds": "TRUE"}) == ReadOptions("/t", row_kinds=True)
    assert read_options({"path": "/t", "Push-Filters": "True"}) == ReadOptions("/t", push_filters=True)
    options = {"PATH": "/t", "Row-Kind-Column": "op", "Overwrite-Where": "dt = 1", "Bucket": "4"}
    assert write_options(options) == WriteOptions("/t", "op", "dt = 1", None, {"Bucket": "4"})
    assert write_options({"path": "/t", "Write.Missing-Columns": "Default"}).missing_columns == "default"


@pytest.mark.parametrize(("text", "dynamic"), [("true", True), ("FALSE", False)])
def test_dynamic_overwrite_is_an_option_of_the_write(text: str, dynamic: bool) -> None:
    assert write_options({"path": "/t", "Dynamic-Partition-Overwrite": text}).overwrite_dynamic is dynamic


@pytest.mark.parametrize("options", [{}, {"path": " "}])
def test_a_missing_path_says_how_to_give_one(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"load\('<path of the table>'\)"):
        read_options(options)
    with pytest.raises(OptionError, match=r"(?s)save\('<path of the table>'\).*saveAsTable.*TEMPORARY VIEW"):
        write_options(options)
    with pytest.raises(
        OptionError, match=r"option\('path', '<path of the table>'\)\.start\(\)\. Of toTable.* DROP TABLE"
    ):
        stream_options(options)


@pytest.mark.parametrize("path", ["paimon.shop.orders", "shop.orders", "`my cat`.shop.orders", "shop.orders$files"])
def test_the_name_of_a_table_is_no_path_unless_there_is_such_a_directory(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for read in (read_options, write_options, stream_options):
        with pytest.raises(OptionError, match=r"'.*' looks like the name of a table.*saveAsTable.*register_catalog"):
            read({"path": path})
    name = path.replace("`", "")
    assert write_options({"path": f"./{name}"}).path == str(tmp_path / name)
    (tmp_path / path.partition("$")[0]).mkdir()
    assert read_options({"path": path}).path == str(tmp_path / path)


@pytest.mark.parametrize("path", ["lake", "lake/shop.db", "/lake/a.b", "a.b.c.d", "t.", "file:a.b"])
def test_other_paths_are_no_names(path: str) -> None:
    assert write_options({"path": path}).path.endswith(path.removeprefix("file:"))


def test_each_option_of_the_connector_is_named_where_wrong_places_are_reported() -> None:
    own = {*READ_ONLY, *WRITE_ONLY, *(option.key for option in _OWN), DYNAMIC_OVERWRITE, ON_EXPIRED.key, STREAM.key}
    assert own - set(_ONCE_ALIASES) <= set(CONNECTOR_KEYS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paths": '["/a","/b"]'}, "several paths"),
        ({"path": "/t", "row-kind-column": "op"}, "'row-kind-column' is an option of writes"),
        ({"path": "/t", "Overwrite-Where": "x"}, "option of writes"),
        ({"path": "/t", "Write.Missing-Columns": "null"}, "option of writes"),
        ({"path": "/t", "columns": ""}, "expected column names"),
        ({"path": "/t", "push-filters": "1"}, "'push-filters' has the value '1': expected true or false"),
        ({"path": "/t", "row-kinds": ""}, "'row-kinds' has the value '': expected true or false"),
    ],
)
def test_options_that_no_read_has_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_options(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "/t", "Columns": "a"}, "option of reads"),
        ({"path": "/t", "filter": "a"}, "option of reads"),
        ({"path": "/t", "Scan.Snapshot-Id": "3"}, "on top of the latest snapshot"),
        ({"path": "/t", "scan.mode": "latest"}, "on top of the latest snapshot"),
        ({"path": "/t", "dynamic-partition-overwrite": "maybe"}, "expected true or false"),
        ({"path": "/t", "write.missing-columns": "zero"}, "expected one of error, null, default"),
        ({"path": "/t", "dynamic-partition-overwrite": "true", "overwrite-where": "a"}, "contradict"),
    ],
)
def test_options_that_no_write_has_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        write_options(options)
