"""The command ``ui``. The server and the charts are an extra."""

from __future__ import annotations

import sys
import webbrowser
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from paimon_spark.catalogs.catalog_options import METASTORE, WAREHOUSE
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.cli.arguments import TableOptions
from paimon_spark.cli.catalog_arguments import CatalogFile, catalog_options
from paimon_spark.cli.messages import say
from paimon_spark.errors import OptionError
from paimon_spark.store.open import find_stored_table
from paimon_spark.ui.source import CatalogTables, OneTable, Place, Source

app: Final = typer.Typer()
_EXTRA = ("plotly", "starlette", "uvicorn")

Shown = Annotated[
    str | None,
    typer.Argument(
        metavar="[PATH]",
        show_default=False,
        help="A table, or the warehouse of a catalog: a local path or a URI; else --catalog tells.",
    ),
]
Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Of this machine; 0: any that is free.")
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]


@app.command()
def ui(
    path: Shown = None,
    catalog_file: CatalogFile = None,
    port: Port = 0,
    no_browser: NoBrowser = False,
    option: TableOptions = None,
) -> None:
    """Shows tables in the browser: snapshots, sorted runs, files, partitions, what a compaction would do.

    The page is served on this machine alone until Ctrl-C, and nothing is changed. -o takes options of the catalog too,
    such as metastore=hive. From another machine: ssh -L PORT:127.0.0.1:PORT, and the address that is printed.
    """
    server = _server()
    source = find_source(catalog_options(path, catalog_file, option, "PATH"))

    def opened(address: str) -> None:
        print(address, flush=True)
        say("the page is there until Ctrl-C")
        if not no_browser and sys.stdout.isatty():
            webbrowser.open(address)

    server.serve(source, port, opened)


def find_source(options: dict[str, str]) -> Source:
    """What the options of a catalog name: its tables, or the one table whose directory is given as the warehouse.

    Raises:
        PaimonError: nothing is there, or the catalog does not answer.
    """
    path = options.get(WAREHOUSE, "")
    storage = {key: value for key, value in options.items() if key != WAREHOUSE}
    if METASTORE not in options and find_stored_table(path, storage) is not None:
        return OneTable(Place(path, storage))
    catalog = open_catalog(options)
    if not catalog.list_databases():
        raise OptionError(
            f"there is neither a table nor a database at {path or options[METASTORE]}: name the directory of a table, "
            "or the warehouse of a catalog, whose databases are directories such as sales.db"
        )
    return CatalogTables(catalog, path or f"the catalog of {options[METASTORE]}")


def _server() -> Any:
    try:
        return import_module("paimon_spark.ui.server")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _EXTRA:
            raise
        raise OptionError(f"ui needs {', '.join(_EXTRA)}: run pip install 'paimon-spark[ui]'") from None
