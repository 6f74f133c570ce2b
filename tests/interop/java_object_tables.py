"""Tables of other kinds by the genuine Java; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype
from java_catalog import _open


def make_by_java(
    paimon: Any, options: Mapping[str, str], database: str, table: str, properties: Mapping[str, str], comment: str
) -> str:
    """Creates a table without declared columns; the words of the error, or none."""
    builder = paimon.schema.Schema.newBuilder().options(jpype.java.util.HashMap(dict(properties))).comment(comment)
    try:
        _open(paimon, options).createTable(paimon.catalog.Identifier.create(database, table), builder.build(), False)
    except jpype.JException as error:
        return str(error)
    return ""
