"""Opens a catalog (Java: CatalogFactory; pypaimon: CatalogFactory.create).

May import: ``catalogs.hive``, ``catalogs.jdbc``, ``catalogs.rest``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paimon_spark.arguments.checks import checked
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.catalog_options import METASTORE, WAREHOUSE, check_catalog_options, storage_options
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.filesystem import DirectoryNames
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import absolute_location, file_io_for

_FILESYSTEM = "filesystem"


@checked
def open_catalog(options: str | Mapping[str, str], name: str = "paimon") -> Catalog:
    """The catalog of a warehouse. Nothing is read or created.

    Args:
        options: the options of a Paimon catalog, as Java, Flink and pypaimon take them (``warehouse``, ``metastore``,
            ``table-default.*``, ``s3.*``, ...); a text means the warehouse alone.
        name: the first part of the names of its tables in SQL.

    Raises:
        OptionError: an option is unknown or has a bad value, or the warehouse is missing.
        UnsupportedFeature: an option asks for what this release does not have, or a package is missing.
    """
    given = {WAREHOUSE: options} if isinstance(options, str) else {key: str(text) for key, text in options.items()}
    kind = given.get(METASTORE, _FILESYSTEM).strip().lower()
    if kind not in _KINDS:
        raise OptionError(f"the option 'metastore' of the catalog is '{kind}': expected {', '.join(_KINDS)}")
    return _KINDS[kind](name, given)


def _filesystem(name: str, options: Mapping[str, str]) -> Catalog:
    check_catalog_options(options)
    if not options.get(WAREHOUSE, "").strip():
        raise OptionError("the option 'warehouse' of the catalog is missing: give the directory of the databases")
    warehouse = absolute_location(options[WAREHOUSE].strip())
    return FileCatalog(DirectoryNames(name, warehouse, file_io_for(warehouse, storage_options(options)), options))


def _jdbc(name: str, options: Mapping[str, str]) -> Catalog:
    try:
        from paimon_spark.catalogs.jdbc.names import jdbc_names
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise UnsupportedFeature(
            "opening a jdbc catalog needs the package SQLAlchemy and a driver of the database: run pip install "
            "'paimon-spark[jdbc]'"
        ) from None
    return FileCatalog(jdbc_names(name, options))


def _hive(name: str, options: Mapping[str, str]) -> Catalog:
    try:
        from paimon_spark.catalogs.hive.names import hive_names
    except ModuleNotFoundError as error:
        if error.name not in ("pymetastore", "thrift"):
            raise
        raise UnsupportedFeature(
            "opening a hive catalog needs the package pymetastore: run pip install 'paimon-spark[hive]'"
        ) from None
    return FileCatalog(hive_names(name, options))


def _rest(name: str, options: Mapping[str, str]) -> Catalog:
    from paimon_spark.catalogs.rest.catalog import RestCatalog  # an HTTP client that few need
    from paimon_spark.catalogs.rest.options import rest_options

    return RestCatalog(name, rest_options(options, name))


_KINDS: Mapping[str, Callable[[str, Mapping[str, str]], Catalog]] = {
    _FILESYSTEM: _filesystem,
    "hive": _hive,
    "jdbc": _jdbc,
    "rest": _rest,
}
"""What opens a catalog, by the value of ``metastore``."""
