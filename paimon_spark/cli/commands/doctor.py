"""``doctor``: can this machine, with these options, read and write tables there?"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Final

import typer

from paimon_spark.cli.arguments import Output, OutputFormat, TableOptions, parse_options
from paimon_spark.cli.tables import print_json
from paimon_spark.cli.texts import printable
from paimon_spark.errors import PaimonError
from paimon_spark.file_io.doctor import Finding, Outcome, examine
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import find_stored_table

app: Final = typer.Typer()
PROBLEMS = 1
_PACKAGES = ("paimon-spark", "pyspark", "pyarrow", "obstore", "hdfs-native")

Location = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        show_default=False,
        help="A table, a warehouse, or a directory in which one is to be: a local path or a URI.",
    ),
]


@app.command()
def doctor(
    path: Location,
    read_only: Annotated[bool, typer.Option("--read-only", help="Write nothing.")] = False,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Tries out what tables need of a storage: credentials, lists, a race for one name, renames, the clock.

    What it writes is in a directory .paimon-doctor-... of its own, which it deletes again. Each line that failed says
    what to do. The exit code is 1 if one failed.
    """
    options = parse_options(option)
    found = [*_machine(), *examine(path, split_storage_options(options)[0], writes=not read_only)]
    if all(each.outcome is not Outcome.BAD for each in found):
        found.append(_table(path, options))
    good = all(each.outcome is not Outcome.BAD for each in found)
    if output is Output.JSON:
        print_json({"good": good, "steps": [asdict(each) for each in found]})
    else:
        width = max(len(each.step) for each in found)
        for each in found:
            print(f"{each.step:<{width}}  {each.outcome.value:<7}  {printable(each.message)}")
    if not good:
        raise typer.Exit(PROBLEMS)


def _machine() -> Iterator[Finding]:
    packages = ", ".join(f"{name} {number}" for name in _PACKAGES if (number := _version(name)))
    yield Finding("packages", Outcome.GOOD, f"Python {platform.python_version()}, {packages}")
    home = os.environ.get("JAVA_HOME", "")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        where = f"in JAVA_HOME={home}" if home else "on the PATH"
        yield Finding("java", Outcome.NOTE, f"there is none {where}: Spark needs it, and 'sql'; nothing else does")
    else:
        yield Finding("java", Outcome.GOOD, java)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _table(path: str, options: dict[str, str]) -> Finding:
    try:
        table = find_stored_table(path, options)
    except PaimonError as error:
        return Finding("table", Outcome.NOTE, str(error))
    if table is None:
        return Finding("table", Outcome.NOTE, "there is no table at this path, which may be that of a warehouse")
    snapshot = table.snapshots.latest()
    state = "no snapshot yet" if snapshot is None else f"the latest snapshot is {snapshot.id}"
    return Finding("table", Outcome.GOOD, f"{len(table.schema.fields)} columns, {state}")
