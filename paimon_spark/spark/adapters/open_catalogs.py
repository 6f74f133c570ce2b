"""The catalogs of a session, and the one in which a table is looked up that is named without one: the last made."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, SqlError
from paimon_spark.sql.text.names import Names
from paimon_spark.sql.text.single_name import column_path, read_table_name

_OPEN: WeakKeyDictionary[SparkSession, dict[str, Catalog]] = WeakKeyDictionary()
_DEFAULTS: WeakKeyDictionary[SparkSession, Catalog] = WeakKeyDictionary()


def set_default_catalog(spark: SparkSession, catalog: Catalog) -> None:
    """Makes a catalog the default one of a session."""
    _DEFAULTS[spark] = catalog
    _OPEN.setdefault(spark, {})[catalog.name.lower()] = catalog


def of_another_catalog(spark: SparkSession, parts: Sequence[str], own: str) -> str | None:
    """What to say of a name that begins with the name of another catalog of the session; None: it does not.

    Args:
        parts: of the name.
        own: the name of the catalog in which it is looked up.
    """
    found = _OPEN.get(spark, {}).get(parts[0].lower()) if len(parts) > 1 else None
    if found is None or found.name.lower() == own.lower():
        return None
    rest = ".".join(parts[1:])
    return (
        f"{'.'.join(parts)} is a name of the catalog '{found.name}', and is looked up in the catalog '{own}' here, "
        f"which knows no other: use what paimon_spark.catalog returned for '{found.name}', its sql, or ['{rest}'] of it"
    )


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
    refusal = of_another_catalog(spark, column_path(name), catalog.name)
    if refusal is not None:
        raise SqlError(refusal)
    found = read_table_name(name, Names(catalog.name, catalog.default_database))
    if found.database is None or found.system is not None:
        raise SqlError(f"{name} is not the name of a table of the catalog {catalog.name}")
    return catalog, Identifier(found.database, found.table), found.suffixes
