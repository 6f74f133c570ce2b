"""Where files of a table may lie outside of its directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.external_paths import ExternalPaths, check_external_path, names_external_paths


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


UUID = "3f0a7c52-4a8e-4c57-9d55-0f3b4f3e8a11"


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("data/bucket-0/data-x.parquet", "data"),
        ("data/dt=1/bucket-0/data-x.parquet", "data"),
        ("data/bucket-0", "data"),
        ("data/dt=1", "data"),
        ("data/x.parquet", None),
        ("data/other/x.parquet", None),
        (f"data/index-{UUID}", None),
        (f"index/btree-{UUID}.index", "index"),
        (f"index/deeper/btree-{UUID}.index", None),
        ("index/btree.index", None),
        ("index/bucket-0/data-x.parquet", None),
        ("elsewhere/bucket-0/data-x.parquet", None),
        ("data/u/bucket-0/data-x.parquet", None),
        ("data/dt=2/bucket-0/data-x.parquet", None),
    ],
)
def test_what_may_be_a_file_of_the_table(path: str, root: str | None, tmp_path: Path) -> None:
    """Below an external path: buckets, partitions and index files, and nothing of another table that is there."""
    given = {
        "data-file.external-paths": f"{tmp_path}/data",
        "global-index.external-path": f"{tmp_path}/index/",
    }
    for other in ("data/u", "data/dt=2"):
        (tmp_path / other / "schema").mkdir(parents=True)
    paths = ExternalPaths(LocalFileIO(), f"{tmp_path}/t", tuple(given.items()))
    assert paths.root_of(f"{tmp_path}/{path}") == (None if root is None else f"{tmp_path}/{root}")
