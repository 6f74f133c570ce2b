"""The columns of object tables, and what a new one must fulfil (Java: ObjectTable, AbstractCatalog)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField

OBJECT_LOCATION = "object-location"
"""The option of releases 1.0 and 1.1 for the directory that is listed."""
_OF_ROWS = (TableSettings.primary_key, TableSettings.partition, TableSettings.bucket, TableSettings.bucket_key)
_COLUMNS = (
    ("path", "STRING NOT NULL", "Relative path of object"),
    ("name", "STRING NOT NULL", "Name of object"),
    ("length", "BIGINT NOT NULL", "Bytes length of object"),
    ("mtime", "BIGINT NOT NULL", "Modification time of object"),
    ("atime", "BIGINT NOT NULL", "Access time of object"),
    ("owner", "STRING", "Owner of object"),
)
OBJECT_FIELDS = tuple(
    DataField(number, name, parse_type(kind), description) for number, (name, kind, description) in enumerate(_COLUMNS)
)
"""The columns of every object table. Times are epoch milliseconds."""


def object_table_schema(
    what: str, fields: Sequence[DataField], options: Mapping[str, str], comment: str | None
) -> TableSchema:
    """The schema of a new object table (Java: AbstractCatalog.buildObjectTableSchema, which passes over other columns).

    Args:
        what: the new table, for messages.
        fields: those that the caller declares.
        options: of the table.

    Raises:
        SchemaError: other columns are declared, a key, or a partition.
        UnsupportedFeature: an option names another directory in the way of old releases.
    """
    found = [option.key for option in _OF_ROWS if options.get(option.key)]
    if found:
        raise SchemaError(
            f"creating {what}: an object table has no '{found[0]}', its rows are the files of its directory; leave it "
            "out"
        )
    if fields and [field.name for field in fields] != [field.name for field in OBJECT_FIELDS]:
        raise SchemaError(
            f"creating {what}: the columns of an object table are always {', '.join(f.name for f in OBJECT_FIELDS)}; "
            "leave the list of columns out"
        )
    if OBJECT_LOCATION in options:
        raise UnsupportedFeature(
            f"creating {what} with '{OBJECT_LOCATION}': releases since 1.2 of the official system list the directory "
            "of the table itself; write LOCATION '...', which is the option 'path', in a Hive or REST catalog"
        )
    return TableSchema(0, OBJECT_FIELDS, OBJECT_FIELDS[-1].id, (), (), dict(options), comment)
