"""The database `sys` of a catalog in a warehouse: its tables, which are read by their paths."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.catalogs.catalog_options import OPTIONS_TABLE, bool_option
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.not_found import known_names
from paimon_spark.catalogs.warehouse import FIELDS
from paimon_spark.errors import TableNotFound

_CATALOG_OPTIONS = "catalog_options"


def system_tables(options: Mapping[str, str]) -> list[str]:
    """The names of the tables of `sys`, sorted, by the options of the catalog."""
    hidden = () if bool_option(options, False, OPTIONS_TABLE) else (_CATALOG_OPTIONS,)
    return sorted(name for name in FIELDS if name not in hidden)


def open_system_table(identifier: Identifier, location: str) -> TableNotFound:
    """The error for opening one as a table with rows of its own, or one that there is not."""
    if identifier.table not in FIELDS:
        return TableNotFound(
            f"there is no table {identifier}: {known_names(identifier.table, sorted(FIELDS), 'table')}"
        )
    return TableNotFound(
        f"{identifier} is no table with rows of its own, but a system table of the whole warehouse: read {location}"
    )
