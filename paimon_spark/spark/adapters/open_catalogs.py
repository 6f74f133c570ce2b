"""The catalogs that are open in a session, and what a name means in them that is given without a catalog object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary, WeakSet

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.catalog_options import METASTORE, WAREHOUSE
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import DatabaseNotFound, OptionError, SqlError, TableNotFound
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.spark.adapters.session_options import settings_below
from paimon_spark.sql.text.cursor import column_path, read_table_name
from paimon_spark.sql.text.names import Names


@dataclass(eq=False)
class OpenCatalog:
    """A catalog, as one object of a user has it open.

    Attributes:
        database: the current one; None: Spark's own catalog is current.
        is_registered: Spark knows the catalog by its name, and which database of it is current.
    """

    catalog: Catalog
    database: str | None
    is_registered: bool = False

    @property
    def names(self) -> Names:
        """How names outside of SQL are read: without a database they are in the current or the default one."""
        return Names(self.catalog.name, self.database or self.catalog.default_database)


@dataclass
class _Openings:
    """The objects that have the same catalog open: the last one, and others that the user still has."""

    last: OpenCatalog
    held: WeakSet[OpenCatalog] = field(default_factory=WeakSet)


_CONFS = "spark.sql.catalog."
_SHOWN = 3
_OPEN: WeakKeyDictionary[SparkSession, dict[str, _Openings]] = WeakKeyDictionary()  # by the text of the catalog


def add_catalog(spark: SparkSession, opened: OpenCatalog) -> None:
    """Makes a catalog known to a session. Others that are open there stay."""
    openings = _OPEN.setdefault(spark, {}).setdefault(repr(opened.catalog), _Openings(opened))
    openings.last = opened
    openings.held.add(opened)


def add_registered_catalog(spark: SparkSession, catalog: Catalog) -> None:
    """Makes a catalog of Spark known under its name, in the place of one that had the name before."""
    _OPEN.setdefault(spark, {})[_registered(catalog.name)] = _Openings(OpenCatalog(catalog, None, True))


def _registered(name: str) -> str:
    return f"the catalog {name.lower()} of Spark"


def of_another_catalog(spark: SparkSession, parts: Sequence[str], own: str) -> str | None:
    """What to say of a name that begins with the name of another catalog of the session; None: it does not.

    Args:
        parts: of the name.
        own: the name of the catalog in which it is looked up.
    """
    if len(parts) < 2 or parts[0].lower() == own.lower():
        return None
    found = next((each.catalog for each in _opened(spark) if each.catalog.name.lower() == parts[0].lower()), None)
    if found is None:
        return None
    rest = ".".join(parts[1:])
    return (
        f"{'.'.join(parts)} is a name of the catalog '{found.name}', and is looked up in the catalog '{own}' here, "
        f"which knows no other: use what paimon_spark.catalog returned for '{found.name}', its sql, or ['{rest}'] of it"
    )


def named_table(spark: SparkSession, name: str) -> tuple[Catalog, Identifier, str]:
    """What ``table``, ``database.table`` or ``catalog.database.table`` means in a session.

    Returns:
        The catalog, the table, and the suffix of a branch, which may be empty.

    Raises:
        OptionError: no session has a catalog.
        SqlError: it is no name of a table, or means several: of several catalogs, or of several current databases.
    """
    if "/" in name:
        path = name.split("`")[-2] if name.count("`") > 1 else name
        raise SqlError(
            f"{name} is a path, and the name of a table is needed here: PaimonTable.forPath(spark, '{path}') opens the "
            f"table of a path, and location('{path}') creates one there"
        )
    opened, parts = list(_opened(spark)) or list(_opened_elsewhere()), column_path(name)
    if not opened:
        raise OptionError(
            "a table is named, and this session has no catalog to look it up in: call paimon_spark.catalog(spark, "
            "'<warehouse>') first, or give the path of the table"
        )
    of_name = [each for each in opened if len(parts) > 1 and each.catalog.name.lower() == parts[0].lower()]
    registered = _OPEN.get(spark, {}).get(_registered(parts[0]))
    if of_name and registered is not None:
        of_name = [registered.last]  # as for Spark itself
    found = {}
    for each in _where_spark_is(spark, of_name or opened):
        table = read_table_name(name, each.names)
        if table.database is None or table.system is not None:
            raise SqlError(f"{name} is not the name of a table of the catalog {each.catalog.name}")
        identifier = Identifier(table.database, table.table)
        found[f"{identifier} of {each.catalog!r}"] = each.catalog, identifier, table.suffixes
    if len(found) > 1:
        raise _several(name, list(found.values()))
    return next(iter(found.values()))


def _several(name: str, found: Sequence[tuple[Catalog, Identifier, str]]) -> SqlError:
    """The refusal of a name that means several tables; it names those that are there."""
    there = [each for each in found if _is_there(each[0], each[1])]
    by_name = len({each[0].name.lower() for each in found}) == len({repr(each[0]) for each in found})
    begin = f"the name {name} means several tables in this session"
    shown = sorted(
        f"{catalog.name}.{identifier}{suffixes}" + ("" if by_name else f" of {catalog.options.get(WAREHOUSE, '')}")
        for catalog, identifier, suffixes in there or found
    )
    if by_name and len(there) == 1:
        return SqlError(f"{begin}, of which {shown[0]} is there: write that")
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    begin += f": {' and '.join(shown[:_SHOWN])}{more}"
    if by_name:
        return SqlError(f"{begin}; write <catalog>.<database>.<table>")
    return SqlError(
        f"{begin}; take the table of the catalog that is meant, ['{name}'] of what paimon_spark.catalog returned, or "
        "open catalogs with names of their own, paimon_spark.catalog(spark, '<warehouse>', name='<catalog>'), and "
        "write <catalog>.<database>.<table>"
    )


def _is_there(catalog: Catalog, identifier: Identifier) -> bool:
    try:
        return catalog.find_table(identifier) is not None
    except (DatabaseNotFound, TableNotFound):
        return False


def _where_spark_is(spark: SparkSession, opened: Sequence[OpenCatalog]) -> Sequence[OpenCatalog]:
    """Without the other catalogs that are registered, where one is Spark's current one: ``USE`` has chosen a database.

    Another object of the same catalog in which nobody has chosen one says nothing else.
    """
    if not any(each.is_registered for each in opened):
        return opened
    current = spark.catalog.currentCatalog().lower()
    chosen = [each for each in opened if each.is_registered and each.catalog.name.lower() == current]
    if not chosen:
        return opened
    database = spark.catalog.currentDatabase()
    same = {repr(each.catalog) for each in chosen}
    others = [
        each
        for each in opened
        if not each.is_registered
        and not (repr(each.catalog) in same and each.database == each.catalog.default_database)
    ]
    return [replace(each, database=database) for each in chosen] + others


def _opened_elsewhere() -> Iterator[OpenCatalog]:
    """Those of all sessions: a batch of foreachBatch has a session of its own, in which nobody opens a catalog."""
    for spark in list(_OPEN):
        yield from _opened(spark)


def _opened(spark: SparkSession) -> Iterator[OpenCatalog]:
    for openings in _OPEN.get(spark, {}).values():
        yield from {openings.last, *openings.held}


def catalog_options(spark: SparkSession, options: str | Mapping[str, str] | None, name: str) -> dict[str, str]:
    """The options of a catalog that a session is to have; arguments as of ``catalog``.

    Raises:
        OptionError: nothing describes the catalog.
    """
    if options is None:
        options = _options_of_session(spark, name)
    given = {WAREHOUSE: options} if isinstance(options, str) else {key: str(text) for key, text in options.items()}
    if WAREHOUSE in given and given.get(METASTORE) != "rest":  # there it is a name
        given[WAREHOUSE] = path_in_session(spark, given[WAREHOUSE])
    return given


def _options_of_session(spark: SparkSession, name: str) -> dict[str, str]:
    prefix = f"{_CONFS}{name}."
    found = {k.removeprefix(prefix): v for k, v in settings_below(spark, prefix).items()}
    if not found:
        raise OptionError(
            f"no catalog is described: give a warehouse, such as paimon_spark.catalog(spark, '/lake'), or set "
            f"{prefix}warehouse in the session"
        )
    return found
