"""Where the options of a catalog come from: a file, the command line, the warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from paimon_spark.cli.arguments import parse_pairs
from paimon_spark.errors import similar_names

CatalogFile = Annotated[
    Path | None,
    typer.Option(
        "--catalog",
        metavar="FILE",
        show_default=False,
        dir_okay=False,
        exists=True,
        help="A file with options of the catalog, KEY=VALUE in each line; those of -o come before them. Keep passwords "
        "here: others can see a command line.",
    ),
]


def catalog_options(
    warehouse: str | None, file: Path | None, pairs: Sequence[str] | None, warehouse_argument: str = "--warehouse"
) -> dict[str, str]:
    """The options of the catalog, from a file, from the line and from the warehouse.

    Args:
        warehouse, file, pairs: what the user gave.
        warehouse_argument: the name that the command has for the warehouse.

    Raises:
        typer.BadParameter: a line of the file is no KEY=VALUE (the message does not show it), or nothing tells where
            the databases are. A metastore may know it: opening its catalog tells.
    """
    configured: dict[str, str] = {}
    for number, line in enumerate([] if file is None else read_argument_file(file, "--catalog").splitlines(), 1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if key and not key.startswith("#"):
            if not equals:
                raise typer.BadParameter(f"line {number} of {file} is no KEY=VALUE", param_hint="'--catalog'")
            configured[key] = value
    options = {**configured, **parse_pairs(pairs), **({} if warehouse is None else {"warehouse": warehouse})}
    if "warehouse" not in options and "metastore" not in options:
        words = "name the directory of the databases, here or in the file of --catalog"
        misspelt = [key for key in options if similar_names(key, ("warehouse", "metastore"))]
        if misspelt:
            [meant, *_] = similar_names(misspelt[0], ("warehouse", "metastore"))
            words = f"the option '{misspelt[0]}' is not known; did you mean '{meant}'?"
        raise typer.BadParameter(words, param_hint=f"'{warehouse_argument}'")
    return options


def read_argument_file(file: Path, option: str) -> str:
    """The text of a file that an option names.

    Raises:
        typer.BadParameter: it cannot be read, or is no text in UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise typer.BadParameter(f"{file} cannot be read: {reason}", param_hint=f"'{option}'") from None
