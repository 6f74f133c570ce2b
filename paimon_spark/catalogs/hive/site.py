"""The file ``hive-site.xml``, with which clients of Hive are configured (Java: HiveCatalog.createHiveConf)."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from paimon_spark.errors import OptionError

_FILE = "hive-site.xml"


def read_site(directory: str) -> dict[str, str]:
    """The properties in the file of a local directory.

    Raises:
        OptionError: the file cannot be read, or is no configuration.
    """
    path = Path(directory.removeprefix("file:")) / _FILE
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


def site_value(found: dict[str, str], name: str) -> str | None:
    """A property; None: it is not there or empty.

    Raises:
        OptionError: it holds a variable, which only Hadoop's own client knows.
    """
    text = found.get(name, "")
    if "${" in text:
        raise OptionError(
            f"the property '{name}' in {_FILE} is '{text}': variables are not replaced here; give the value as an "
            "option of the catalog"
        )
    return text or None
