"""What the genuine Java sees of a table when options travel; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from java_table import table_at


def columns(paimon: Any, path: str, options: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, type as SQL) of the columns that a read with the options has."""
    fields = table_at(paimon, path, options).rowType().getFields()
    return [(str(field.name()), str(field.type().asSQLString())) for field in fields]
