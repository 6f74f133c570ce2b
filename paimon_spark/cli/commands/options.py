"""``options``: the options that a table stores, or with --known all that this release knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import pyarrow as pa
import typer

from paimon_spark.cli.arguments import Branch, Columns, RowsFormat, RowsOutput, TableOptions, Where, parse_options
from paimon_spark.cli.commands.listings import SHOWN, Limit, list_rows
from paimon_spark.cli.csv_rows import print_csv
from paimon_spark.cli.tables import print_json, print_whole
from paimon_spark.cli.values import json_rows
from paimon_spark.errors import OptionError
from paimon_spark.format.options.described import described_options

app = typer.Typer()
_MARKUP = re.compile(r"\[([^\]]+)\]\([^)]*\)|`")  # of the descriptions, which the documentation shows too
_KNOWN = pa.schema([(name, pa.string()) for name in ("option", "status", "type", "default", "meaning")])


@app.command("options", help=SHOWN["options"][0])
def options(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            show_default=False,
            help="The table directory, as for other commands; with --known a part of the names that are wanted.",
        ),
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="List all options that this release knows, with what each does.")
    ] = False,
    where: Where = None,
    columns: Columns = None,
    limit: Limit = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: RowsFormat = RowsOutput.TEXT,
) -> None:
    if known:
        if where or columns or branch or option:
            raise OptionError("--known reads no table: leave out --where, --columns, --branch and --option")
        _print_known(path or "", limit, output)
        return
    if path is None:
        raise typer.BadParameter("name a table, or give --known for all options that there are", param_hint="PATH")
    list_rows("options", path, parse_options(option, branch), columns, where, limit, output)


def _print_known(part: str, limit: int | None, output: RowsOutput) -> None:
    rows = list(_known(part.lower()))[: limit or None]
    if not rows:
        raise OptionError(f"no known option has '{part}' in its name; without it --known lists them all")
    batch = pa.RecordBatch.from_pylist(rows, schema=_KNOWN)
    if output is RowsOutput.JSON:
        print_json(list(json_rows([batch])))
    elif output is RowsOutput.CSV:
        print_csv(_KNOWN, iter([batch]), None)
    else:
        print_whole(_KNOWN.names, (tuple(row.values()) for row in rows))


def _known(part: str) -> Iterator[dict[str, str]]:
    for option in described_options():
        if part in option.key.lower():
            meaning = _MARKUP.sub(lambda found: found[1] or "", option.meaning)
            values = (option.key, str(option.status), option.type, option.default, meaning)
            yield dict(zip(_KNOWN.names, values, strict=True))
