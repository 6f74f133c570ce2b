"""By which rules a Spark session reads the text of a condition."""

from __future__ import annotations

from pyspark.sql import SparkSession

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.spark.adapters.char_columns import AS_STRINGS, PADS_READS
from paimon_spark.spark.adapters.session_options import is_case_sensitive

_DEFAULTS = {
    "spark.sql.timestampType": "timestamp_ltz",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    AS_STRINGS: "false",
    "spark.sql.legacy.noCharPaddingInPredicate": "false",
    PADS_READS: "true",
}


def sql_dialect(spark: SparkSession) -> Dialect:
    """The rules of a session as it is set now.

    With ``spark.sql.caseSensitive`` = ``true`` two names in a text may be of two columns, which our reader of
    conditions takes for one; other settings change what a literal is.
    """
    changed = any((spark.conf.get(key, value) or value).lower() != value for key, value in _DEFAULTS.items())
    if changed or is_case_sensitive(spark):
        return Dialect.OTHER
    return Dialect.ANSI if is_ansi(spark) else Dialect.LENIENT


def is_ansi(spark: SparkSession) -> bool:
    """True if the session follows ANSI rules; Spark's own default depends on its environment."""
    return (spark.conf.get("spark.sql.ansi.enabled") or "true").lower() == "true"
