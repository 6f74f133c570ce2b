"""Where files of a table may lie outside of its directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.external_paths import check_external_path, names_external_paths


@pytest.mark.parametrize(
    ("options", "outside"),
    [
        ({}, False),
        ({"data-file.external-paths": "s3://b/x"}, True),
        ({"global-index.external-path": "s3://b/y"}, True),
        ({"global-index.external-path": " "}, False),
    ],
)
def test_tables_with_files_elsewhere(options: dict[str, str], outside: bool) -> None:
    assert names_external_paths(TableSettings(options)) is outside


def test_roots_that_may_not_hold_files(tmp_path: Path) -> None:
    (tmp_path / "other/schema").mkdir(parents=True)
    table = f"{tmp_path}/db/t"
    for root in (f"{tmp_path}/new", f"{tmp_path}/db/t2"):
        check_external_path(LocalFileIO(), table, root)
    for root in ("no/root", ""):
        with pytest.raises(OptionError, match="is no absolute path of a directory"):
            check_external_path(LocalFileIO(), table, root)
    for root in (table, f"{tmp_path}/db", f"{tmp_path}/other"):
        with pytest.raises(OptionError, match="is the directory of a table"):
            check_external_path(LocalFileIO(), table, root)
