"""Opens a catalog (Java: CatalogFactory; pypaimon: CatalogFactory.create).

May import: ``catalogs.hive``, ``catalogs.jdbc``, ``catalogs.rest``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from paimon_spark.arguments.checks import checked
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.catalog_options import METASTORE, WAREHOUSE, check_catalog_options, storage_options
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.filesystem import DirectoryNames
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO, absolute_location, file_io_for, local_path

_FILESYSTEM = "filesystem"
_NAME = re.compile(r"[\w-]+")


@checked
def open_catalog(options: str | Mapping[str, str], name: str = "paimon") -> Catalog:
    """The catalog of a warehouse, whose tables are read; arguments and errors as of ``paimon_spark.open_catalog``."""
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"the name of the catalog is '{name}': expected letters, digits, '_' and '-', such as 'lake'"
            f"{'; were the name and the warehouse swapped?' if '/' in name else ''}",
            arguments=("name",),
        )
    given = {WAREHOUSE: options} if isinstance(options, str) else {key: str(text) for key, text in options.items()}
    kind = given.get(METASTORE, _FILESYSTEM).strip().lower()
    if kind not in _KINDS:
        raise OptionError(f"the option 'metastore' of the catalog is '{kind}': expected {', '.join(_KINDS)}")
    return _KINDS[kind](name, given)


def _filesystem(name: str, options: Mapping[str, str]) -> Catalog:
    check_catalog_options(options)
    if "uri" in options:
        raise OptionError(
            "the option 'uri' of the catalog is given, and 'metastore' does not say what is there: set 'metastore' to "
            "rest, hive or jdbc; a catalog in files has no server, so leave 'uri' out for one"
        )
    if not options.get(WAREHOUSE, "").strip():
        raise OptionError("the option 'warehouse' of the catalog is missing: give the directory of the databases")
    warehouse = absolute_location(options[WAREHOUSE].strip())
    file_io = file_io_for(warehouse, storage_options(options))
    if isinstance(file_io, LocalFileIO) and Path(local_path(warehouse)).is_file():
        raise OptionError(f"the warehouse {warehouse} of the catalog is a file: give the directory of the databases")
    return FileCatalog(DirectoryNames(name, warehouse, file_io, options))


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
