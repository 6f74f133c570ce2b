"""The catalog in which a session looks a table up that is named without one: the last that was made for it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, SqlError
from paimon_spark.sql.text.names import Names
from paimon_spark.sql.text.single_name import read_table_name

_DEFAULTS: WeakKeyDictionary[SparkSession, Catalog] = WeakKeyDictionary()


def set_default_catalog(spark: SparkSession, catalog: Catalog) -> None:
    """Makes a catalog the default one of a session."""
    _DEFAULTS[spark] = catalog


def default_catalog(spark: SparkSession) -> Catalog:
    """The default catalog of a session.

    Raises:
        OptionError: none was made.
    """
    found = _DEFAULTS.get(spark)
    if found is None:
        raise OptionError(
            "a table is named, and this session has no catalog to look it up in: call paimon_spark.catalog(spark, "
            "'<warehouse>') first, or give the path of the table"
        )
    return found


def named_table(spark: SparkSession, name: str) -> tuple[Catalog, Identifier, str]:
    """What a name means in the default catalog of a session: ``table`` or ``database.table``.

    Returns:
        The catalog, the table, and the suffix of a branch, which may be empty.

    Raises:
        OptionError: the session has no catalog.
        SqlError: it is no name of a table.
    """
    catalog = default_catalog(spark)
    found = read_table_name(name, Names(catalog.name, catalog.default_database))
    if found.database is None or found.system is not None:
        raise SqlError(f"{name} is not the name of a table of the catalog {catalog.name}")
    return catalog, Identifier(found.database, found.table), found.suffixes
