"""What a Spark session says: ``spark.paimon.<option>`` (features 8.4; Java: OptionUtils), and its dialect.

``spark.paimon.<catalog>.<database>.<table>.<option>``, in which each of the three names may be ``*``, comes before
``spark.paimon.<option>``; an option of the read or write itself comes before both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.errors import OptionError
from paimon_spark.format.options.catalogue import known_key
from paimon_spark.format.options.connector_keys import CONNECTOR_KEYS, TIME_ZONE
from paimon_spark.format.options.read_settings import TIME_TRAVEL_OPTIONS
from paimon_spark.format.options.value_texts import parse_bool
from paimon_spark.spark.adapters.char_columns import AS_STRINGS, PADS_READS
from paimon_spark.store.metadata.table_options import unknown_option

PREFIX = "spark.paimon."
READ_CHANGELOG = "read.changelog"
ALLOW_FULL_SCAN = "read.allow.fullScan"
HIVE_STYLE_PARTITION = "write.hive-style-dynamic-partition.enabled"
_OF_SESSION = ("requiredSparkConfsCheck.enabled", "write.use-v2-write", "write.local")
_SWITCHES = (READ_CHANGELOG, ALLOW_FULL_SCAN, HIVE_STYLE_PARTITION)
_NO_TABLE_OPTIONS = {name.lower() for name in (*CONNECTOR_KEYS, *_SWITCHES, *_OF_SESSION)} - {TIME_ZONE}
_NOT_OF_READS = ("write.", "read.stream.")
_NOT_OF_WRITES = ("read.",)
_NOT_OF_STREAMS = ("write.",)
_ANY = "*"
_NAMES = 3  # catalog, database, table
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


@dataclass(frozen=True)
class SessionOptions:
    """What a session says of one table.

    Attributes:
        table: options for reads and writes of the table.
        read_changelog: a read shows the row kinds, as the system table audit_log does.
        allow_full_scan: a read of a partitioned table needs no condition on its partitions.
        hive_style_partition: in an INSERT the values of columns that PARTITION names without values come last.
    """

    table: Mapping[str, str]
    read_changelog: bool = False
    allow_full_scan: bool = True
    hive_style_partition: bool = True

    @property
    def of_reads(self) -> Mapping[str, str]:
        """The options for a read of a table as it is now or was: without those of writes and of streams."""
        return {key: value for key, value in self.table.items() if not key.lower().startswith(_NOT_OF_READS)}

    @property
    def of_streams(self) -> Mapping[str, str]:
        """The options for a stream of a table, among them those that say where it begins: without those of writes."""
        return {key: value for key, value in self.table.items() if not key.lower().startswith(_NOT_OF_STREAMS)}

    @property
    def of_writes(self) -> Mapping[str, str]:
        """The options for a write, which goes on top of the latest state: without those of reads."""
        chosen = self.without_state().table
        return {key: value for key, value in chosen.items() if not key.lower().startswith(_NOT_OF_WRITES)}

    def without_state(self) -> SessionOptions:
        """The same without the options that choose a state, for a read that chooses one itself."""
        travel = {key.lower() for option in TIME_TRAVEL_OPTIONS for key in (option.key, *option.older)}
        return replace(self, table={key: value for key, value in self.table.items() if key.lower() not in travel})


def settings_below(spark: SparkSession, prefix: str) -> dict[str, str]:
    """The settings of a session whose names begin with a prefix.

    PySpark asks the JVM twice for each setting that there is, which takes longer than planning a small read. The names
    as one text tell whether it has to. Spark Connect sends all settings in one answer.
    """
    in_java = getattr(spark.conf, "_jconf", None)
    if in_java is not None and prefix not in in_java.getAllAsJava().keySet().toString():
        return {}
    return {key: value for key, value in spark.conf.getAll.items() if key.startswith(prefix)}


def paimon_settings(spark: SparkSession) -> dict[str, str]:
    """The settings of a session that begin with ``spark.paimon.``."""
    return settings_below(spark, PREFIX)


def is_case_sensitive(spark: SparkSession) -> bool:
    """True if names of columns that differ in letter case alone are two names in this session."""
    return (spark.conf.get("spark.sql.caseSensitive", "false") or "").lower() == "true"


def is_switched_on(spark: SparkSession, setting: str) -> bool:
    """True if a setting of the session, which is true by default, is on.

    Raises:
        OptionError: it is neither true nor false.
    """
    text = (spark.conf.get(setting, "true") or "true").strip().lower()
    if text not in ("true", "false"):
        raise OptionError(f"the setting '{setting}' has the value '{text}': expected true or false")
    return text == "true"


def chosen_options(
    confs: Mapping[str, str], catalog: str = _ANY, database: str = _ANY, table: str = _ANY
) -> SessionOptions:
    """What a session says of a table.

    Args:
        confs: the settings that begin with ``spark.paimon.``.
        catalog, database, table: the names of the table; ``*`` for one that it does not have, since it is named by its
            path: only settings with ``*`` in that place fit then.

    Raises:
        OptionError: a switch is neither true nor false, or an option is not known.
    """
    if not confs:
        return SessionOptions({})
    common: dict[str, str] = {}
    special: dict[str, str] = {}
    for key, value in confs.items():
        option = key.removeprefix(PREFIX)
        parts = option.split(".", _NAMES)
        if len(parts) == _NAMES + 1 and _fits(parts[:_NAMES], (catalog, database, table)):
            special[parts[_NAMES]] = value
        elif known_key(option) is not None or len(parts) <= _NAMES or known_key(parts[_NAMES]) is None:
            common[option] = value  # else it is a setting of another table
    options = {**common, **special}
    for key in common:
        if known_key(key) is None and key.lower() not in _NO_TABLE_OPTIONS:
            raise OptionError(f"the session sets '{PREFIX}{key}': {unknown_option(key)}")
    changelog = _switch(options, READ_CHANGELOG, default=False)
    full_scan = _switch(options, ALLOW_FULL_SCAN, default=True)
    hive_style = _switch(options, HIVE_STYLE_PARTITION, default=True)
    return SessionOptions(
        {key: value for key, value in options.items() if key not in _OF_SESSION}, changelog, full_scan, hive_style
    )


def _fits(patterns: list[str], names: tuple[str, str, str]) -> bool:
    return all(pattern in (_ANY, name) for pattern, name in zip(patterns, names, strict=True))


def _switch(options: dict[str, str], key: str, default: bool) -> bool:
    text = options.pop(key, None)
    try:
        return default if text is None else parse_bool(text)
    except ValueError as error:
        raise OptionError(f"the session sets '{PREFIX}{key}' to '{text}': {error}") from None


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
