"""What commands say where a path, an option or a right is wrong: one sentence, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.command_line import command
from support.tables.golden_tables import GoldenTable


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)


@pytest.mark.parametrize("name", ["info", "read", "count", "check", "files"])
def test_the_schemes_that_there_are(name: str) -> None:
    printed = command(name, "ftp://host/t")
    assert (printed.code, printed.out) == (2, "")
    assert "no store serves 'ftp://' (location 'ftp://host/t'); use a local path, file, s3," in printed.err
    assert printed.err.strip().count("\n") == 0
    assert "or viewfs, in lower case" in command(name, "S3://bucket/t").err


@pytest.mark.parametrize("name", ["info", "read", "count", "check", "files", "compact"])
def test_an_option_that_is_not_known(table: Path, name: str) -> None:
    printed = command(name, table, "-o", "foo=bar")
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.endswith("the option 'foo' is not known; docs/reference/options.md lists all options\n")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("s3.acces-key", "s3.access-key"),
        ("s3.endpoit", "s3.endpoint"),
        ("fs.s3a.acess.key", "fs.s3a.access.key"),
        ("s3.access_key", "s3.access.key"),
        ("S3.Access-Key", "s3.access-key"),
    ],
)
@pytest.mark.parametrize("path", ["s3://bucket/t", "gs://bucket/t", "t"])
def test_a_misspelt_key_of_s3(key: str, meant: str, path: str) -> None:
    printed = command("count", path, "-o", f"{key}=secret")
    assert printed.code == 2
    assert f"the option '{key}' of the store is not known; did you mean '{meant}'?" in printed.err
    assert "secret" not in printed.err


@pytest.mark.parametrize("key", ["fs.s3a.endpoint.fips", "fs.s3a.assumed.role.credentials.provider"])
def test_another_key_of_hadoop_is_left_alone(key: str) -> None:
    printed = command("count", "s3://bucket/t", "-o", f"{key}=x", "-o", "s3.endpoint=no address")
    assert "expected an address such as" in printed.err


def test_the_tables_of_a_warehouse(tmp_path: Path) -> None:
    (tmp_path / "lake" / "a.db").mkdir(parents=True)
    GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path / "lake" / "a.db")
    tables = f"{tmp_path}/lake/sys.db/tables"
    printed = command("read", tables, "--columns", "database_name", "--output", "json")
    assert (printed.code, printed.out) == (0, '{"database_name": "a"}\n')
    assert "tables of sys.db are read with paimon-spark read" in command("count", tables).err
    assert "no table 'x' in the database sys" in command("read", f"{tmp_path}/lake/sys.db/x").err


def test_a_name_where_a_path_must_be() -> None:
    assert "the path of a table of a catalog is <warehouse>/sys.db/tables" in command("read", "sys.tables").err
