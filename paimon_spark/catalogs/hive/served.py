"""A format table of a metastore, which alone has its columns: it is opened by its name.

``open_served`` is called by ``store.open`` for locations ``hive-table://<catalog>/<database>/<table>``, in every
process that opens the table: the text from which the metastore is reached travels with the storage options.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote

from paimon_spark.catalogs.hive.format_tables import check_like_hive, format_schema, is_format_table, is_made_by_paimon
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import HiveTable, place_of_partition, place_of_table
from paimon_spark.catalogs.hive.travel import read_connection
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import file_io_for, plain_location
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.storage.publishers import CONNECTION
from paimon_spark.store.storage.served import SERVED_BY_HIVE, ServedTable

_KIND = "hive"


def served_location(catalog: str, identifier: Identifier) -> str:
    """The location of a format table, by its name."""
    return SERVED_BY_HIVE + "/".join(quote(part, safe="") for part in (catalog, identifier.database, identifier.table))


def open_served(location: str, storage: Mapping[str, str]) -> ServedTable | None:
    """The table of a name; see store.storage.served.

    Raises:
        OptionError: the storage options lack those of the catalog.
        CatalogUnavailable: the metastore does not answer.
        UnsupportedFeature: Hive reads other rows in its files than this release would.
    """
    kind, _, text = next((one for key, one in storage.items() if key.lower() == CONNECTION), "").partition(":")
    parts = [unquote(part) for part in location.removeprefix(SERVED_BY_HIVE).split("/")]
    if kind != _KIND or len(parts) != 3:
        raise OptionError(
            f"{location} is the name of a table in a Hive metastore: open it with paimon_spark.catalog(spark, "
            "{'metastore': 'hive', 'uri': ...}), or give the options that table_options() of its catalog returns"
        )
    metastore, identifier = Metastore(read_connection(text)), Identifier(parts[1], parts[2])
    table = metastore.table(identifier)
    place = None if table is None else place_of_table(table)
    if table is None or place is None or not is_format_table(table):
        return None
    schema = format_schema(identifier, table)
    check_like_hive(identifier, table)
    if schema.partition_keys and not is_made_by_paimon(table):
        _check_partitions(metastore, identifier, table, place)
    known = {key: value for key, value in schema.options.items() if key != PATH}
    return ServedTable(place, file_io_for(place, storage), None, known, schema)


def _check_partitions(metastore: Metastore, identifier: Identifier, table: HiveTable, place: str) -> None:
    """Checks that the partitions that Hive knows are directories of the table, where a format table looks for them."""
    above = f"{plain_location(place)}/"
    for partition in metastore.partitions(identifier):
        found = place_of_partition(partition)
        if found is not None and not plain_location(found).startswith(above):
            raise UnsupportedFeature(
                f"opening {identifier}: the metastore has a partition of it at {found}, outside of its directory "
                f"{place}, where nobody looks for partitions of a format table; read it with Hive"
            )
