"""The options of a Hive catalog (features 9.1, 9.2; Java: HiveCatalogOptions, HiveCatalog.createHiveConf)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from paimon_spark.catalogs.catalog_options import WAREHOUSE, bool_option, check_catalog_options
from paimon_spark.catalogs.hive.security import OF_CONNECTION, OPTIONS, HiveSecurity, read_security
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.value_texts import parse_bool, parse_duration, parse_int

URI = "uri"
LOCK_ENABLED = "lock.enabled"
SITE_DIRECTORY = "hive-conf-dir"
_LOCK_TYPE, _TABLE_TYPE = "lock.type", "table.type"
_CLIENT_CLASS = "metastore.client.class"
_JAVA_CLIENT = "org.apache.hadoop.hive.metastore.HiveMetaStoreClient"
_URIS, _WAREHOUSE_DIR = "hive.metastore.uris", "hive.metastore.warehouse.dir"
_TIMEOUT = "hive.metastore.client.socket.timeout"
_SCHEME = "thrift://"
_SITE = "hive-site.xml"
_PORT = 9083
_EIGHT_MINUTES, _EIGHT_SECONDS, _TEN_MINUTES = 480_000, 8_000, 600_000
_OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "az", "abfs", "abfss", "oss", "cosn", "obs", "memory")
_OPTIONS: Mapping[str, Callable[[str], Any]] = {
    SITE_DIRECTORY: str,
    _CLIENT_CLASS: str,
    _URIS: str,
    _WAREHOUSE_DIR: str,
    _TIMEOUT: parse_duration,
    "location-in-properties": parse_bool,
    "client-pool-cache.eviction-interval-ms": parse_int,
    "client-pool-cache.keys": str,
    "hive.skip-update-stats": parse_bool,
    "alter-table-cascade": parse_bool,
    **OPTIONS,
}


@dataclass(frozen=True)
class HiveSettings:
    """What the options say.

    Attributes:
        uris: (host, port) of the metastores, of which any serves.
        warehouse: the directory of the directories of new databases, as given.
        pool_size: how many connections a process keeps.
        timeout: milliseconds after which an answer is given up.
        locked: whether commits and new schemas take the lock of the table.
        lock_timeout: milliseconds after which a lock is given up.
        lock_sleep: the longest wait between two looks, in milliseconds.
        syncs: whether the options of tables are copied into the metastore.
        location_in_properties: whether locations are properties, so that the metastore does not look at them.
        is_external: whether the directories of new tables stay when the table is dropped.
        skips_statistics: whether the metastore leaves its statistics alone when a table is altered.
        cascades: whether changed columns are passed on to the partitions in the metastore.
        security: how a client logs in, and what protects the connection.
    """

    uris: tuple[tuple[str, int], ...]
    warehouse: str
    pool_size: int = 2
    timeout: int = _TEN_MINUTES
    locked: bool = False
    lock_timeout: int = _EIGHT_MINUTES
    lock_sleep: int = _EIGHT_SECONDS
    syncs: bool = True
    location_in_properties: bool = False
    is_external: bool = False
    skips_statistics: bool = False
    cascades: bool = True
    security: HiveSecurity = field(default_factory=HiveSecurity)

    @property
    def shown(self) -> str:
        """The addresses, for messages."""
        return ", ".join(f"{_SCHEME}{host}:{port}" for host, port in self.uris)


def read_settings(options: Mapping[str, str]) -> HiveSettings:
    """Checks the options and reads those of the metastore, and what they lack from ``hive-site.xml``.

    Raises:
        OptionError: an option is unknown, missing or has a bad value.
        UnsupportedFeature: an option asks for what this catalog does not have.
    """
    _check(options)
    directory = options.get(SITE_DIRECTORY, os.environ.get("HIVE_CONF_DIR", "")).strip()
    site = _read_site(directory) if directory else {}
    used = (_URIS, _WAREHOUSE_DIR, _TIMEOUT, *OF_CONNECTION)
    of_site = {key: text for key in used if (text := _site_value(site, key)) is not None}
    given = {**of_site, **options}
    uri = options.get(URI) or given.get(_URIS, "")
    warehouse = options.get(WAREHOUSE) or given.get(_WAREHOUSE_DIR, "")
    for name, text, other in ((URI, uri, _URIS), (WAREHOUSE, warehouse, _WAREHOUSE_DIR)):
        if not text.strip():
            raise OptionError(
                f"the option '{name}' of the hive catalog is missing: give it, or '{SITE_DIRECTORY}', the directory "
                f"of a hive-site.xml with '{other}'"
            )
    found = HiveSettings(
        tuple(_address(one.strip()) for one in uri.split(",") if one.strip()),
        warehouse.strip(),
        parse_int(options.get("client-pool-size", "2")),
        _timeout(given.get(_TIMEOUT)),
        bool_option(options, _is_object_store(warehouse), LOCK_ENABLED),
        _millis(options, "lock-acquire-timeout", _EIGHT_MINUTES),
        _millis(options, "lock-check-max-sleep", _EIGHT_SECONDS),
        bool_option(options, True, "sync-all-properties"),
        bool_option(options, False, "location-in-properties"),
        options.get(_TABLE_TYPE, "managed").lower() == "external",
        bool_option(options, False, "hive.skip-update-stats"),
        bool_option(options, True, "alter-table-cascade"),
        read_security(options, site),
    )
    if found.pool_size < 1:
        raise OptionError(f"the option 'client-pool-size' of the catalog is '{found.pool_size}': it must be 1 or more")
    return found


def _check(options: Mapping[str, str]) -> None:
    lock_type = options.get(_LOCK_TYPE, "hive")
    if lock_type != "hive":
        raise UnsupportedFeature(
            f"opening the catalog: 'lock.type' = '{lock_type}' asks for a lock that this release does not have; a hive "
            "catalog has the lock 'hive', so leave the option out"
        )
    if options.get(_CLIENT_CLASS, _JAVA_CLIENT) != _JAVA_CLIENT:
        raise UnsupportedFeature(
            f"opening the catalog: '{_CLIENT_CLASS}' = '{options[_CLIENT_CLASS]}' is a Java class, and the metastore "
            "is spoken to by Thrift here; leave the option out"
        )
    if "hadoop-conf-dir" in options:
        raise UnsupportedFeature(
            "opening the catalog: the files of 'hadoop-conf-dir' are not read here; give the options of the storage "
            "(s3.*, fs.*, ...) to the catalog, or configure HDFS through the environment"
        )
    if options.get(_TABLE_TYPE, "managed").lower() not in ("managed", "external"):
        raise OptionError(
            f"the option '{_TABLE_TYPE}' of the catalog is '{options[_TABLE_TYPE]}': expected managed or external"
        )
    others = {key: text for key, text in options.items() if key not in (_LOCK_TYPE, _TABLE_TYPE)}
    check_catalog_options(others, _OPTIONS)


def _address(uri: str) -> tuple[str, int]:
    host, _, port = uri.removeprefix(_SCHEME).rstrip("/").rpartition(":")
    if not host:
        host, port = port, str(_PORT)
    if not uri.startswith(_SCHEME) or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise OptionError(
            f"the option '{URI}' of the hive catalog has '{uri}': expected thrift://<host>:<port>, several with commas "
            "between them"
        )
    return host.strip("[]"), int(port)


def _is_object_store(warehouse: str) -> bool:
    return warehouse.partition("://")[0] in _OBJECT_STORES if "://" in warehouse else False


def _millis(options: Mapping[str, str], key: str, default: int) -> int:
    return parse_duration(options[key]) if key in options else default


def _timeout(text: str | None) -> int:
    """Hive takes a number without a unit for seconds."""
    if text is None:
        return _TEN_MINUTES
    try:
        return int(text) * 1000 if text.isdecimal() else parse_duration(text)
    except ValueError as error:
        raise OptionError(f"the property '{_TIMEOUT}' is '{text}': {error}") from None


def _read_site(directory: str) -> dict[str, str]:
    """The properties in the file of a local directory.

    Raises:
        OptionError: the file cannot be read, or is no configuration.
    """
    path = Path(directory.removeprefix("file:")) / _SITE
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        raise OptionError(
            f"reading the configuration of Hive: {path} cannot be read ({error.strerror}); see to 'hive-conf-dir', or "
            "give 'uri' and 'warehouse' as options"
        ) from None
    except ElementTree.ParseError as error:
        raise OptionError(f"reading the configuration of Hive: {path} is no XML ({error})") from None
    found = {}
    for entry in root.iter("property"):
        name, text = entry.findtext("name", "").strip(), entry.findtext("value", "").strip()
        if name:
            found[name] = text
    return found


def _site_value(found: dict[str, str], name: str) -> str | None:
    """A property; None: it is not there or empty.

    Raises:
        OptionError: it holds a variable, which only Hadoop's own client knows.
    """
    text = found.get(name, "")
    if "${" in text:
        raise OptionError(
            f"the property '{name}' in {_SITE} is '{text}': variables are not replaced here; give the value as an "
            "option of the catalog"
        )
    return text or None
