"""The text from which another process reaches the metastore. It goes with the options of tables.

The password of a file of certificates is not in it, but in a file (``secret_files``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from paimon_spark.catalogs.catalog_options import METASTORE, TABLE_DEFAULT, storage_options
from paimon_spark.catalogs.hive.security import TRUSTSTORE_PASSWORD
from paimon_spark.catalogs.hive.settings import HiveSettings, read_settings
from paimon_spark.catalogs.secret_files import kept_secrets, read_secrets

_PREFIX = "hive:"
_SECRETS = "secrets"  # no option of a catalog


def connection_text(options: Mapping[str, str]) -> str:
    """The value of the option CONNECTION for the tables of a catalog with these options."""
    hidden = {METASTORE, TRUSTSTORE_PASSWORD, *storage_options(options)}
    kept = {k: text for k, text in options.items() if k not in hidden and not k.startswith(TABLE_DEFAULT)}
    if TRUSTSTORE_PASSWORD in options:
        kept[_SECRETS] = kept_secrets({TRUSTSTORE_PASSWORD: options[TRUSTSTORE_PASSWORD]})
    return _PREFIX + json.dumps(kept)


def read_connection(text: str) -> HiveSettings:
    """The settings in such a text, without the prefix.

    Raises:
        OptionError: the file with the password is not there.
    """
    options = json.loads(text)
    named = options.pop(_SECRETS, None)
    return read_settings({**options, **({} if named is None else read_secrets(named))})
