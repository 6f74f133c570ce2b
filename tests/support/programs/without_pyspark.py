"""A process without PySpark, run as a program: what needs no Spark works, and nothing imports it or runs Java.

Prints what doors say that need it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

HIDDEN = ("pyspark", "py4j", "grpc", "google")


def tables(folder: Path) -> str:
    """Makes, writes, changes, streams and maintains tables; the path of one."""
    import pyarrow.compute as pc

    from paimon_spark import check, col, create_table, expire_snapshots, open_catalog, open_table

    columns = {"id": "BIGINT", "dt": "STRING", "v": "DOUBLE"}
    path = str(folder / "lake" / "shop.db" / "orders")
    table = create_table(path, columns, "id, dt", "dt", {"bucket": "1"})
    for number in range(3):
        table.append({"id": [number, 7], "dt": ["a", "b"], "v": [1.0, float(number)]})
    table.update("id = 0", {"v": pc.field("v") + 1})
    table.delete(col("id") == 1)
    table.merge({"id": [2], "dt": ["a"], "v": [9.0]}, "id, dt").when_matched_update_all().execute()
    table.compact()
    table.create_tag("first")
    assert sorted(table.scan("id, v").to_arrow()["v"].to_pylist()) == [2.0, 2.0, 9.0]
    assert table.scan(where="dt = 'a' AND v > 2").count() == 1
    assert table.scan().to_pandas().shape == (3, 3)
    assert table.scan().to_dataset().count_rows() == 3
    catalog = open_catalog(str(folder / "lake"))
    catalog.new_table("shop.copy", columns, ["id", "dt"], ["dt"], options={"bucket": "1"})
    assert (
        open_table(path.replace("orders", "copy")).write_stream(open_table(path).stream(row_kinds=True), "copy").rows
        == 3
    )
    assert catalog.list_tables("shop") == ["copy", "orders"]
    assert not check(path).problems
    expire_snapshots(table, retain_max=5, retain_min=1)
    return path


def commands(path: str) -> None:
    """Runs some commands of the program, and loads all."""
    from typer.main import get_command

    from paimon_spark.cli import program
    from paimon_spark.cli.command_list import COMMANDS

    for line in (["info", path], ["read", path, "--where", "dt = 'a'"], ["count", path], ["snapshots", path]):
        assert ended(["paimon-spark", *line]) == 0, line
    assert ended(["paimon-spark", "--version"]) == 0
    group = get_command(program.app)
    for name in COMMANDS:
        if name != "sql":
            group.get_command(None, name).loaded()  # type: ignore[attr-defined]
    print("sql ends with", ended(["paimon-spark", "sql", "SELECT 1", "--warehouse", str(Path(path).parents[1])]))


def ended(argv: list[str]) -> int:
    from paimon_spark.cli.program import main

    sys.argv = argv
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def doors() -> None:
    import paimon_spark

    for name in ("PaimonTable", "catalog", "register", "register_catalog"):
        try:
            getattr(paimon_spark, name)
        except ModuleNotFoundError as error:
            print(error)


def main(folder: str) -> None:
    sys.modules.update(dict.fromkeys(HIDDEN))  # type: ignore[arg-type]  # as where they are not installed
    os.environ.pop("JAVA_HOME", None)
    os.environ["PATH"] = ""
    started: list[Any] = []
    sys.addaudithook(lambda event, args: started.append(args) if event == "subprocess.Popen" else None)
    commands(tables(Path(folder)))
    doors()
    assert [name for name, module in sys.modules.items() if module and name.partition(".")[0] in HIDDEN] == []
    assert [args for args in started if "java" in str(args[0])] == []
    print("done")


if __name__ == "__main__":
    main(sys.argv[1])
