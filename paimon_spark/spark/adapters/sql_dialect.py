"""By which rules a Spark session reads the text of a condition."""

from __future__ import annotations

from pyspark.sql import SparkSession

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.spark.adapters.session_options import is_case_sensitive

_SWITCHES = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.legacy.consecutiveStringLiterals.enabled",
    "spark.sql.legacy.literal.pickMinimumPrecision",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled",
)
_DEFAULTS = {"spark.sql.legacy.literal.pickMinimumPrecision": "true"}


def sql_dialect(spark: SparkSession) -> Dialect:
    """The rules of a session as it is set now.

    With ``spark.sql.caseSensitive`` = ``true`` two names in a text may be of two columns, which our reader of
    conditions takes for one; other settings change what a literal is.
    """
    if is_case_sensitive(spark) or _get(spark, "spark.sql.timestampType", "TIMESTAMP_LTZ") != "timestamp_ltz":
        return Dialect.OTHER
    if any(_get(spark, key, _DEFAULTS.get(key, "false")) != _DEFAULTS.get(key, "false") for key in _SWITCHES):
        return Dialect.OTHER
    return Dialect.ANSI if is_ansi(spark) else Dialect.LENIENT


def is_ansi(spark: SparkSession) -> bool:
    """Whether the session follows ANSI rules; Spark's own default depends on its environment."""
    return (spark.conf.get("spark.sql.ansi.enabled") or "true").lower() == "true"


def _get(spark: SparkSession, key: str, default: str) -> str:
    return (spark.conf.get(key, default) or default).lower()
