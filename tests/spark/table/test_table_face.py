"""PaimonTable as its user sees it: what it shows of itself, and the forms in which it takes rows and columns."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from support.paths import ROOT

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import DataError
from paimon_spark.spark.table.new_table import NewTable
from paimon_spark.spark.table.table_api import TableOptimizer
from paimon_spark.store.metadata.table import Table

NO_SESSION: SparkSession = None  # type: ignore[assignment]  # nothing here asks for it
COLUMNS = pa.schema([("id", pa.int64()), ("v", pa.float64())])
PUBLIC = {name for name, _ in inspect.getmembers(PaimonTable, callable) if not name.startswith("_")}


@pytest.fixture
def path(tmp_path: Path) -> str:
    location = str(tmp_path / "t")
    create_table(location, new_schema(COLUMNS, ("id",), (), {"bucket": "1"}))
    return location


def test_repr_tells_the_path_and_no_secret_and_reads_nothing(path: str) -> None:
    options = {"s3.secret-key": "hidden", "scan.tag-name": "t1"}
    table = PaimonTable(NO_SESSION, path, options)
    shutil.rmtree(path)
    assert repr(table) == f"PaimonTable('{path}', options={{'scan.tag-name': 't1'}})"
    assert repr(PaimonTable(NO_SESSION, path, {"s3.secret-key": "hidden"})) == f"PaimonTable('{path}')"


@pytest.mark.spark
def test_repr_tells_the_branch_that_the_path_names(spark: SparkSession, path: str) -> None:
    shutil.copytree(f"{path}/schema", f"{path}/branch/branch-b/schema")
    opened = PaimonTable.forPath(spark, f"{path}$branch_b")
    assert repr(opened) == f"PaimonTable('{path}', options={{'branch': 'b'}})"


def test_the_groups_of_help_name_every_method_once() -> None:
    assert PaimonTable.__doc__ is not None
    named = re.findall(r"``(\w+)``", PaimonTable.__doc__)
    assert sorted(named) == sorted(PUBLIC)


def test_help_refers_to_nothing_that_users_do_not_have() -> None:
    """The numbering of the format notes belongs to comments and to the heads of modules."""
    owners = (PaimonTable, TableOptimizer, NewTable, Table)
    exported = [getattr(paimon_spark, name) for name in paimon_spark.__all__ if name != "__version__"]
    seen = [*owners, *exported, *(member for owner in owners for _, member in inspect.getmembers(owner, callable))]
    texts = [inspect.getdoc(item) or "" for item in seen]
    assert len(texts) > 100
    assert [text for text in texts if re.search(r"\((format|features)( section)? \d", text)] == []


@pytest.mark.parametrize("rows", [[(1, 2.0)], "id", None])
def test_rows_in_another_form_are_refused_in_words(path: str, rows: object) -> None:
    kind = type(rows).__name__
    for write in (PaimonTable.append, PaimonTable.overwrite, PaimonTable.dynamic_partition_overwrite):
        with pytest.raises(DataError, match=f"given as {kind}: expected a DataFrame of pandas, Polars or"):
            write(PaimonTable(NO_SESSION, path), rows)
    assert open_table(path).snapshots.latest_id() is None


@pytest.mark.spark
def test_rows_of_pandas_and_arrow_and_columns_as_text(spark: SparkSession, path: str) -> None:
    table = PaimonTable.forPath(spark, path)
    table.append(pd.DataFrame({"id": [1, 2], "v": [1.5, 2.5]}))
    table.append(pa.table({"id": [2, 3], "v": [None, 4.5]}, COLUMNS).select(["v", "id"]))
    assert table.toDF("v, id").orderBy("id").collect() == [Row(1.5, 1), Row(None, 2), Row(4.5, 3)]
    assert table.toDF(columns="`v`", where="id = 3").collect() == [Row(4.5)]
    assert table.system_table("snapshots", "snapshot_id,commit_kind").columns == ["snapshot_id", "commit_kind"]


def test_the_version_is_that_of_the_code_also_in_a_zip(tmp_path: Path) -> None:
    packed = tmp_path / "paimon_spark.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in [*(ROOT / "paimon_spark").glob("*.py")]:
            archive.write(file, file.relative_to(ROOT))
    code = "import paimon_spark, sys; print(paimon_spark.__version__, paimon_spark.__file__, 'pyspark' in sys.modules)"
    call, place = [sys.executable, "-S", "-c", code], {"PYTHONPATH": str(packed)}
    done = subprocess.run(call, cwd=tmp_path, env=place, capture_output=True, text=True, check=True)
    printed = done.stdout.split()
    assert printed == [paimon_spark.__version__, f"{packed}/paimon_spark/__init__.py", "False"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.\w+)?", paimon_spark.__version__)
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
