"""Messages of Canal in JSON (Java: CanalRecordParser)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_spark.cdc.encodings import Columns
from paimon_spark.cdc.events import (
    Event,
    Ignored,
    Image,
    MalformedMessage,
    Reading,
    folded,
    folded_names,
    member,
    names_of,
    optional_member,
    update_rows,
)
from paimon_spark.cdc.formats.mysql_types import TypeMapping, mysql_encoding
from paimon_spark.cdc.json_values import parse_object
from paimon_spark.format.row_kind import DELETE, INSERT

_MOST_SCHEMAS = 256


class CanalReader:
    """Reads ``{"data": [...], "old": [...], "type", "isDdl", "mysqlType", "pkNames"}``."""

    def __init__(self, reading: Reading, mappings: frozenset[TypeMapping] = frozenset()) -> None:
        self._reading = reading
        self._mappings = mappings
        self._columns: dict[tuple[tuple[str, Any], ...], Columns] = {}

    def read(self, text: str, key: str | None) -> Event | Ignored:
        root = parse_object(text)
        change = member(root, "type", str)
        database, table = optional_member(root, "database", str), optional_member(root, "table", str)
        if root.get("isDdl") or change in ("QUERY", "CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE"):
            statement = str(root.get("sql") or change)
            if change == "TRUNCATE":
                return Ignored("truncate", f"table {database}.{table}: {statement}")
            return Ignored("schema-change", statement)
        data = [self._image(image) for image in member(root, "data", list)]
        source_keys = folded_names(names_of(root.get("pkNames"), "pkNames"), self._reading)
        keys = self._reading.keys or source_keys
        rows = tuple(row for i, image in enumerate(data) for row in self._rows(change, image, root, i, keys))
        return Event(database, table, rows, self._types(root), keys, optional_member(root, "es", int))

    def _rows(
        self, change: str, image: Image, root: Mapping[str, Any], position: int, keys: tuple[str, ...]
    ) -> tuple[tuple[int, Image], ...]:
        if change in ("INSERT", "ROW"):  # ROW: a row of a first load by TiCDC
            return ((INSERT, image),)
        if change == "DELETE":
            return ((DELETE, image),)
        if change != "UPDATE":
            raise MalformedMessage(f"'type' is '{change:.80}', expected INSERT, UPDATE or DELETE")
        olds = member(root, "old", list, " where 'type' is 'UPDATE'")
        if len(olds) != len(root["data"]):
            raise MalformedMessage(f"'old' has {len(olds)} rows and 'data' {len(root['data'])}")
        return update_rows({**image, **self._image(olds[position] or {})}, image, keys)

    def _image(self, value: Any) -> Image:
        if not isinstance(value, dict):
            raise MalformedMessage(f"a row is {value!r:.80}, expected an object")
        return folded(value, self._reading)

    def _types(self, root: Mapping[str, Any]) -> Columns | None:
        """The columns that ``mysqlType`` tells; messages of the same types share one object."""
        types = optional_member(root, "mysqlType", dict)
        if types is None:
            return None
        known = self._columns.get(tuple(types.items())) if all(isinstance(t, str) for t in types.values()) else None
        if known is None:
            names = folded({name: member(types, name, str, " in 'mysqlType'") for name in types}, self._reading)
            known = Columns({name: mysql_encoding(text, self._mappings) for name, text in names.items()})
            if len(self._columns) >= _MOST_SCHEMAS:
                self._columns.clear()
            self._columns[tuple(types.items())] = known
        return known
