"""The options of a catalog (features 9.1; Java: CatalogOptions, CatalogFactory)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from paimon_spark.errors import OptionError, UnsupportedFeature, similar_names
from paimon_spark.format.options.value_texts import parse_bool, parse_choice, parse_duration, parse_int, parse_memory
from paimon_spark.store.metadata.table_options import STORAGE_PREFIXES, split_storage_options

WAREHOUSE = "warehouse"
METASTORE = "metastore"
DEFAULT_DATABASE = "defaultDatabase"
CASE_SENSITIVE = "case-sensitive"
OPTIONS_TABLE = "catalog-options-table.enabled"
TABLE_DEFAULT = "table-default."
Prefixes: TypeAlias = tuple[str, ...]
_CACHE_DURATIONS = ("cache.expire-after-access", "cache.expiration-interval", "cache.expire-after-write")

_PARSERS: Mapping[str, Callable[[str], Any]] = {
    WAREHOUSE: str,
    METASTORE: str,
    DEFAULT_DATABASE: str,
    CASE_SENSITIVE: parse_bool,
    "allow-upper-case": parse_bool,
    OPTIONS_TABLE: parse_bool,
    "table.type": parse_choice("managed", "external"),
    "uri": str,
    "lock.enabled": parse_bool,
    "lock.type": str,
    "lock-check-max-sleep": parse_duration,
    "lock-acquire-timeout": parse_duration,
    "client-pool-size": parse_int,
    "cache-enabled": parse_bool,
    **dict.fromkeys(_CACHE_DURATIONS, parse_duration),
    "cache.partition.max-num": parse_int,
    "cache.manifest.small-file-memory": parse_memory,
    "cache.manifest.small-file-threshold": parse_memory,
    "cache.manifest.max-memory": parse_memory,
    "cache.manifest.soft-values": parse_bool,
    "cache.snapshot.max-num-per-table": parse_int,
    "cache.deletion-vectors.max-num": parse_int,
    "sync-all-properties": parse_bool,
    "format-table.enabled": parse_bool,
    "resolving-file-io.enabled": parse_bool,
    "file-io.allow-cache": parse_bool,
    "local-cache.enabled": parse_bool,
    "local-cache.dir": str,
    "local-cache.max-size": parse_memory,
    "local-cache.block-size": parse_memory,
    "local-cache.whitelist": str,
}
"""The options of a catalog in files. Those that this package does not use (docs/guides/catalogs.md) are checked."""


def check_catalog_options(
    options: Mapping[str, str], more: Mapping[str, Callable[[str], Any]] = MappingProxyType({}), prefixes: Prefixes = ()
) -> None:
    """Checks the keys and values of the options of a catalog.

    Args:
        options: all options.
        more: further keys that the kind of catalog has, with what reads their values.
        prefixes: of further keys that the kind of catalog has; their values are not checked.

    Raises:
        OptionError: a key is unknown, or a value cannot be parsed; the message has no value of a key of the storage.
        UnsupportedFeature: an option asks for what a catalog in files does not have.
    """
    for key, text in options.items():
        parse = _PARSERS.get(key) or more.get(key)
        if parse is None:
            if not key.startswith((TABLE_DEFAULT, *prefixes)) and not key.lower().startswith(STORAGE_PREFIXES):
                raise OptionError(_unknown(key, more))
            continue
        try:
            value = parse(text)
        except ValueError as error:
            raise OptionError(f"the option '{key}' of the catalog is '{text}': {error}") from None
        if key in _CACHE_DURATIONS and value <= 0:
            raise OptionError(f"the option '{key}' of the catalog is '{text}': it must be longer than nothing")
    if options.get("table.type", "").lower() == "external":
        raise UnsupportedFeature(
            "opening the catalog: 'table.type' = 'external' is for the Hive metastore; a catalog in files has managed "
            "tables only, so leave the option out"
        )
    if "lock.type" in options:
        raise UnsupportedFeature(
            f"opening the catalog: 'lock.type' = '{options['lock.type']}' asks for a lock that this release does not "
            "have; writers of this package need none. If Java jobs write to the same tables of an object store under a "
            "lock, write with Java"
        )


def _unknown(key: str, more: Iterable[str]) -> str:
    near = similar_names(key, [*_PARSERS, *more, TABLE_DEFAULT], count=2)
    hint = f"did you mean {' or '.join(repr(name) for name in near)}? " if near else ""
    return (
        f"the option '{key}' of the catalog is not known; {hint}An option for new tables is given as "
        f"'{TABLE_DEFAULT}<option>', and options of the storage begin with {', '.join(STORAGE_PREFIXES[:3])}, ..."
    )


def bool_option(options: Mapping[str, str], default: bool, *keys: str) -> bool:
    """The value of a boolean option under the first of its names that is given."""
    return next((parse_bool(options[key]) for key in keys if key in options), default)


def table_defaults(options: Mapping[str, str]) -> dict[str, str]:
    """The options that new tables get unless their schema has them (Java: CatalogUtils.tableDefaultOptions)."""
    return {key.removeprefix(TABLE_DEFAULT): text for key, text in options.items() if key.startswith(TABLE_DEFAULT)}


def storage_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of the storage among those of a catalog."""
    return split_storage_options(options)[0]
