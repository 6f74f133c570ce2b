"""The settings of a Spark session that a native read depends on."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from paimon_spark.spark.adapters.options import SESSION_ZONE, native_choice
from paimon_spark.spark.adapters.session_options import is_switched_on
from paimon_spark.writes.options import LOCAL, NATIVE

SESSION_NATIVE = f"spark.paimon.{NATIVE}"
SESSION_LOCAL = f"spark.paimon.{LOCAL}"
_V1_SOURCES = "spark.sql.sources.useV1SourceList"


@dataclass(frozen=True)
class SessionSettings:
    """What a session says.

    Attributes:
        time_zone: of conditions in SQL.
        local: the setting `spark.paimon.read.local`: whether the driver reads small tables itself.
        native: the setting `spark.paimon.read.native`; None: auto.
        case_sensitive: whether `a` and `A` are two columns.
        refusal: why this session cannot read any file natively; None: it can.
    """

    time_zone: str | None
    local: bool
    native: bool | None
    case_sensitive: bool
    refusal: str | None


def session_settings(spark: SparkSession) -> SessionSettings:
    """The settings as they are now.

    Raises:
        OptionError: a setting `spark.paimon.read.*` has a value that is not known.
    """
    return SessionSettings(
        time_zone=spark.conf.get(SESSION_ZONE),
        local=is_switched_on(spark, SESSION_LOCAL),
        native=native_choice(spark.conf.get(SESSION_NATIVE, "auto") or "auto", SESSION_NATIVE),
        case_sensitive=_is_on(spark, "spark.sql.caseSensitive"),
        refusal=_refusal(spark),
    )


def _refusal(spark: SparkSession) -> str | None:
    """Rows must not be lost without a word, and `_metadata` of files exists in the first version of sources only."""
    for key in ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"):
        if _is_on(spark, key):
            return f"the session has {key} = true"
    if "parquet" not in (spark.conf.get(_V1_SOURCES, "parquet") or "").lower().split(","):
        return f"the session leaves parquet out of {_V1_SOURCES}"
    return None


def _is_on(spark: SparkSession, key: str) -> bool:
    return (spark.conf.get(key, "false") or "false").strip().lower() == "true"
