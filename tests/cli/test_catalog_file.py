"""The options of a catalog from a file, from the command line, or both."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from paimon_spark import open_catalog
from paimon_spark.cli.catalog_arguments import catalog_options


def test_a_file_with_options(tmp_path: Path) -> None:
    file = tmp_path / "lake.properties"
    file.write_text(
        f"# of the lake\n\nmetastore = jdbc\nuri=jdbc:sqlite:{tmp_path}/c.db?busy_timeout=5\nwarehouse = /a\n"
    )
    options = catalog_options(None, file, ["catalog-key=b", "warehouse=/c"])
    assert options == {
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/c.db?busy_timeout=5",
        "warehouse": "/c",
        "catalog-key": "b",
    }
    assert catalog_options("/d", file, None)["warehouse"] == "/d"
    catalog = open_catalog(options)
    catalog.create_database("shop")
    assert catalog.list_databases() == ["shop"]


def test_what_is_wrong_with_it(tmp_path: Path) -> None:
    file = tmp_path / "lake.properties"
    file.write_text("metastore=jdbc\nhush\n")
    with pytest.raises(typer.BadParameter, match=r"line 2 of .* is no KEY=VALUE") as raised:
        catalog_options("/a", file, None)
    assert "hush" not in str(raised.value)
    for place, reason in ((file, "it is no text in UTF-8"), (tmp_path, "Is a directory")):
        file.write_bytes("warehouse=/a".encode("utf-16"))
        with pytest.raises(typer.BadParameter, match=f"cannot be read: {reason}"):
            catalog_options(None, place, None)
    file.write_text("wharehouse=/a\n")
    with pytest.raises(typer.BadParameter, match=r"the option 'wharehouse' is not known; did you mean 'warehouse'\?"):
        catalog_options(None, file, None)
    with pytest.raises(typer.BadParameter, match="name the directory of the databases"):
        catalog_options(None, None, ["a=b"])
    assert catalog_options(None, None, ["metastore=hive"]) == {"metastore": "hive"}, "its hive-site.xml may tell"
