"""What the database holds of the options of a table (Java: JdbcCatalog.collectTableProperties)."""

from __future__ import annotations

from paimon_spark.catalogs.jdbc.sql_schema import NAME_LENGTH, VALUE_LENGTH
from paimon_spark.catalogs.key_options import key_options
from paimon_spark.errors import OptionError
from paimon_spark.format.schema import TableSchema


def table_properties(schema: TableSchema) -> dict[str, str]:
    """The options and the keys of a table, by the names that the database has for them.

    Raises:
        OptionError: one is longer than its column.
    """
    made = {**schema.options, **key_options(schema)}
    check_lengths("the table", made, "; or open the catalog with 'sync-all-properties' = 'false'")
    return made


def check_lengths(owner: str, properties: dict[str, str], advice: str = "") -> None:
    """Checks that the columns of Java's schema are long enough.

    Raises:
        OptionError: one is not.
    """
    for key, text in properties.items():
        if len(key) > NAME_LENGTH or len(text) > VALUE_LENGTH:
            raise OptionError(
                f"the property '{key[:80]}' of {owner} has a key of {len(key)} and a value of {len(text)} characters, "
                f"and the database of the catalog takes {NAME_LENGTH} and {VALUE_LENGTH}; shorten it{advice}"
            )
