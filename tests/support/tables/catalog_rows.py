"""The rows of a JDBC catalog in SQLite, as another client of the database sees and changes them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any


def query(place: Path, text: str) -> list[tuple[Any, ...]]:
    """What another client of the database sees, or does."""
    connection = sqlite3.connect(place / "catalog.db")
    with connection:
        rows = connection.execute(text).fetchall()
    connection.close()
    return rows


def properties(place: Path) -> dict[str, str]:
    """The copies of the options of all tables."""
    return dict(query(place, "SELECT property_key, property_value FROM paimon_table_properties"))
