"""The catalog in which a session looks a table up that is named without one: the last that was made for it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.errors import OptionError

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
            "'<warehouse>') first"
        )
    return found
