"""The options of a JDBC catalog (features 9.1 and 9.3; Java: JdbcCatalogOptions, CatalogOptions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.catalogs.catalog_options import WAREHOUSE, bool_option, check_catalog_options
from paimon_spark.catalogs.jdbc.sql_schema import LOCK_KEY_LENGTH
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.value_texts import parse_duration, parse_int

URI = "uri"
PROPERTY = "jdbc."
"""The prefix of properties of the connection."""
CATALOG_KEY = "catalog-key"
LOCK_ENABLED = "lock.enabled"
_LOCK_TYPE = "lock.type"
_KEY_LENGTH = "lock-key-max-length"
_EIGHT_MINUTES, _EIGHT_SECONDS = 480_000, 8_000
_OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "az", "abfs", "abfss", "oss", "cosn", "obs", "memory")


@dataclass(frozen=True)
class JdbcSettings:
    """What the options say.

    Attributes:
        uri: of the database; it may hold a password.
        properties: of the connection, without the prefix; they may hold a password.
        key: of this catalog among those of the database.
        pool_size: how many connections a process keeps.
        locked: whether commits and changes of names take the lock of the table.
        lock_timeout: milliseconds after which a lock is given up, and after which a lock of others is broken.
        lock_sleep: the longest wait between two tries, in milliseconds.
        lock_key_length: of the table of locks, where it is made.
        syncs: whether the options of tables are copied into the database.
    """

    uri: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    key: str = "jdbc"
    pool_size: int = 2
    locked: bool = False
    lock_timeout: int = _EIGHT_MINUTES
    lock_sleep: int = _EIGHT_SECONDS
    lock_key_length: int = LOCK_KEY_LENGTH
    syncs: bool = True


def read_settings(options: Mapping[str, str]) -> JdbcSettings:
    """Checks the options and reads those of the database.

    Raises:
        OptionError: an option is unknown, missing or has a bad value.
        UnsupportedFeature: an option asks for what this catalog does not have.
    """
    lock_type = options.get(_LOCK_TYPE, "jdbc")
    if lock_type != "jdbc":
        raise UnsupportedFeature(
            f"opening the catalog: 'lock.type' = '{lock_type}' asks for a lock that this release does not have; a jdbc "
            "catalog has the lock 'jdbc', so leave the option out"
        )
    others = {key: text for key, text in options.items() if key != _LOCK_TYPE}
    check_catalog_options(others, {CATALOG_KEY: str, _KEY_LENGTH: parse_int}, (PROPERTY,))
    for name in (URI, WAREHOUSE):
        if not options.get(name, "").strip():
            raise OptionError(f"the option '{name}' of the jdbc catalog is missing")
    found = JdbcSettings(
        options[URI].strip(),
        {key.removeprefix(PROPERTY): text for key, text in options.items() if key.startswith(PROPERTY)},
        options.get(CATALOG_KEY, "jdbc"),
        parse_int(options.get("client-pool-size", "2")),
        bool_option(options, _is_object_store(options[WAREHOUSE]), LOCK_ENABLED),
        _millis(options, "lock-acquire-timeout", _EIGHT_MINUTES),
        _millis(options, "lock-check-max-sleep", _EIGHT_SECONDS),
        parse_int(options.get(_KEY_LENGTH, str(LOCK_KEY_LENGTH))),
        bool_option(options, True, "sync-all-properties"),
    )
    if found.pool_size < 1:
        raise OptionError(f"the option 'client-pool-size' of the catalog is '{found.pool_size}': it must be 1 or more")
    return found


def _is_object_store(warehouse: str) -> bool:
    return warehouse.partition("://")[0] in _OBJECT_STORES if "://" in warehouse else False


def _millis(options: Mapping[str, str], key: str, default: int) -> int:
    return parse_duration(options[key]) if key in options else default
