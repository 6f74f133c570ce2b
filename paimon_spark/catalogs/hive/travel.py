"""The text from which another process reaches the metastore. It goes with the options of tables; it holds no secret."""

from __future__ import annotations

import json
from collections.abc import Mapping

from paimon_spark.catalogs.catalog_options import METASTORE, TABLE_DEFAULT, storage_options
from paimon_spark.catalogs.hive.settings import HiveSettings, read_settings

_PREFIX = "hive:"


def connection_text(options: Mapping[str, str]) -> str:
    """The value of the option CONNECTION for the tables of a catalog with these options."""
    hidden = {METASTORE, *storage_options(options)}
    kept = {k: text for k, text in options.items() if k not in hidden and not k.startswith(TABLE_DEFAULT)}
    return _PREFIX + json.dumps(kept)


def read_connection(text: str) -> HiveSettings:
    """The settings in such a text, without the prefix."""
    return read_settings(json.loads(text))
