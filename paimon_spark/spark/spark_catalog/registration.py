"""Makes a catalog known to Spark: to a session, and to those that are made of it later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from weakref import ReferenceType, proxy, ref

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.catalog_options import WAREHOUSE
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.errors import NameTaken, UnsupportedFeature
from paimon_spark.spark.adapters.live_session import check_runs
from paimon_spark.spark.adapters.open_catalogs import add_registered_catalog, catalog_options
from paimon_spark.spark.spark_catalog.catalog_calls import INTERFACES, CatalogCalls
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.planner_strategy import add_strategy, planner_strategy, strategy_of_new_sessions
from paimon_spark.spark.spark_catalog.sessions import CatalogSessions, RegisteredCatalogs
from paimon_spark.spark.spark_catalog.spark_internals import (
    check_internals,
    loaded_catalog,
    parser,
    put_data_source,
    put_parser,
)
from paimon_spark.spark.spark_catalog.statement_parser import StatementParser

_SECRETS = re.compile("key|token|secret|password|credential", re.IGNORECASE)
"""In the options by which a store is entered: others of these say nothing else of which tables a catalog has."""
_PARSER = "org.apache.spark.sql.catalyst.parser.ParserInterface"
_NAME = "paimon"
_OF_CONTEXT = "_paimon_catalogs"
"""The attribute of a SparkContext for its catalogs: they go with it when it is stopped and no one uses it."""


def register_catalog(spark: SparkSession, name: str = _NAME, options: str | Mapping[str, str] | None = None) -> None:
    """Makes the tables of a warehouse known to Spark itself, as those of a catalog of its own.

    ::

        paimon_spark.register_catalog(spark, "paimon", "/lake")
        spark.sql("SELECT * FROM paimon.shop.orders WHERE id = 7")
        spark.table("paimon.shop.orders").where("dt = '2026-11-01'")
        df.writeTo("paimon.shop.orders").append()

    ``PaimonTable.forName`` finds them too. It is for classic sessions; on Spark Connect use ``paimon_spark.catalog``.
    Sessions that are made of this one know the catalog too. After ``spark.stop()`` it must be registered again.
    To register it again in a session that has it changes nothing, but for keys and tokens of its store.

    Args:
        name: of the catalog in Spark: letters, digits, ``_`` and ``-``.
        options: the warehouse, or Paimon's catalog options, as for ``paimon_spark.catalog``. None: the settings
            ``spark.sql.catalog.<name>.<option>`` of the session.

    Raises:
        OptionError: an option is unknown or missing, or the name is none.
        UnsupportedFeature: the session is one of Spark Connect, or this Spark lacks a name that the catalog needs.
        NameTaken: Spark has a catalog of that name which is not of this package, or has other options.
    """
    check_runs(spark, "this call", "and register the catalog in it")
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedFeature(
            "registering a catalog: this is a session of Spark Connect, in which Python has no access to the catalogs "
            "of Spark; use paimon_spark.catalog(spark, ...), whose sql and table read the same tables"
        )
    registry, session = registered_catalogs(spark), spark._jsparkSession
    if registry is None:
        objects = JvmObjects(spark)
        check_internals(spark, objects)
    else:
        objects = registry.objects
    known = registry.catalogs.get(name) if registry is not None else None
    if known is None:
        _check_free(spark, name)
    catalog = open_catalog(catalog_options(spark, options, name), name)
    if known is None:
        known = _made_catalog(spark, objects, catalog)
    elif known[0].catalog.options != catalog.options:
        _check_same_tables(known[0].catalog, catalog)
        known[0].renew(catalog)
    if registry is None:
        registry = RegisteredCatalogs(objects, planner_strategy(objects))
        vars(spark.sparkContext)[_OF_CONTEXT] = registry
        function, extensions = objects.make(["scala.Function2"], _ParserOfSession(ref(registry))), session.extensions()
        extensions.injectParser(function)
        extensions.injectPlannerStrategy(strategy_of_new_sessions(objects, registry.strategy))
        put_data_source(spark, objects)
    registry.catalogs[name] = known
    registry.version += 1
    add_registered_catalog(spark, known[0].catalog)
    _wrap_parser(session, registry)
    add_strategy(session, objects, registry.strategy)
    registry.enter(session)


def _made_catalog(spark: SparkSession, objects: JvmObjects, catalog: Catalog) -> tuple[CatalogSessions, Java]:
    """A catalog in the sessions of the JVM, and the object that Spark has of it."""
    sessions = CatalogSessions(spark, objects, catalog)
    constants = {
        "name": catalog.name,
        "defaultNamespace": objects.strings([catalog.default_database]),
        "capabilities": objects.set(_capabilities(objects)),
    }
    return sessions, objects.make(INTERFACES, CatalogCalls(proxy(sessions)), constants, f"catalog {catalog!r}")


def registered_catalogs(spark: SparkSession) -> RegisteredCatalogs | None:
    """The catalogs that are registered in the JVM of a session; None: no registration was tried."""
    found: RegisteredCatalogs | None = vars(spark.sparkContext).get(_OF_CONTEXT)
    return found


class _ParserOfSession:
    """scala.Function2: Spark asks it for the parser of each session that it makes."""

    def __init__(self, registry: ReferenceType[RegisteredCatalogs]) -> None:
        self._registry = registry

    def apply(self, session: Java, delegate: Java) -> Java:
        registry = self._registry()
        return delegate if registry is None else _with_parser(registry, session, delegate)


def _with_parser(registry: RegisteredCatalogs, session: Java, delegate: Java) -> Java:
    """The parser of a session, over that of Spark."""
    weak = registry.objects.static("java.lang.ref.WeakReference")
    return registry.objects.make([_PARSER], StatementParser(delegate, weak(session), ref(registry)), delegate=delegate)


def _wrap_parser(session: Java, registry: RegisteredCatalogs) -> None:
    """Gives the session itself, which is made already, the parser that later sessions get."""
    known = parser(session, registry.objects)
    if registry.objects.is_made(known):
        return
    put_parser(session, registry.objects, _with_parser(registry, session, known))


def _check_free(spark: SparkSession, name: str) -> None:
    given = spark.conf.get(f"spark.sql.catalog.{name}", None)
    if name == "spark_catalog" or given or loaded_catalog(spark._jsparkSession, name) is not None:
        what = f"the setting spark.sql.catalog.{name} = {given}" if given else f"Spark's own catalog '{name}'"
        raise NameTaken(
            f"registering the catalog '{name}': {what} is there already; choose another name, or make the session "
            "without that setting"
        )


def _check_same_tables(there: Catalog, given: Catalog) -> None:
    """Refuses options by which a name would mean other tables: DataFrames of the catalog may be in use."""
    before, after = there.options, given.options
    keys = sorted(key for key in {*before, *after} if before.get(key) != after.get(key) and not _SECRETS.search(key))
    if not keys:
        return
    what = f"other values of {', '.join(keys)} than those given now"
    if keys == [WAREHOUSE]:
        what = f"the warehouse {before.get(WAREHOUSE)}, not {after.get(WAREHOUSE)}"
    raise NameTaken(
        f"registering the catalog '{given.name}' again: in this session it has {what}; choose another name, or stop "
        "the session with spark.stop() and register the catalog in a new one"
    )


def _capabilities(objects: JvmObjects) -> list[Java]:
    known = "org.apache.spark.sql.connector.catalog.TableCatalogCapability."
    return [objects.static(known + "SUPPORT_COLUMN_DEFAULT_VALUE")]
