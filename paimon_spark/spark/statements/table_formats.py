"""What CREATE TABLE may ask for by USING: a table of Paimon, or a format table. It imports no engine."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.rules.format_tables import FILE_FORMATS
from paimon_spark.sql.statements import CreateTable

_PROVIDERS = (None, "paimon")


def check_clauses(create: CreateTable) -> None:
    """Checks that a statement asks for a table of Paimon.

    Raises:
        UnsupportedFeature: USING names another format, or LOCATION stands beside AS.
        SqlError: columns are declared beside AS.
    """
    if create.provider not in (*_PROVIDERS, *FILE_FORMATS):
        raise UnsupportedFeature(
            f"CREATE TABLE {create.table} USING {create.provider}: that is no table of Paimon, which this release does "
            f"not make; leave USING out, or name one of {', '.join(FILE_FORMATS)}, which makes a format table"
        )
    if create.query is not None and create.location is not None:
        raise UnsupportedFeature(
            f"CREATE TABLE {create.table} LOCATION ... AS: a table with rows may be at that place already; create the "
            "table without AS, then INSERT INTO it"
        )
    if create.query is not None and create.columns:
        raise SqlError(
            f"CREATE TABLE {create.table} AS takes its columns from the query; leave the list of columns out"
        )


def format_options(provider: str | None) -> Mapping[str, str]:
    """The options of a new table whose format USING names: it is a format table (Java: SparkCatalog.toInitialSchema).

    Args:
        provider: in small letters.
    """
    if provider not in FILE_FORMATS:
        return {}
    return {TableSettings.table_type.key: str(TableKind.FORMAT_TABLE), FileSettings.format.key: str(provider)}
