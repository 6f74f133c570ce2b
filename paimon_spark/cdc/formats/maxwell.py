"""Messages of Maxwell in JSON (Java: MaxwellRecordParser)."""

from __future__ import annotations

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
from paimon_spark.cdc.json_values import parse_object
from paimon_spark.format.row_kind import DELETE, INSERT

_INSERTS = ("insert", "bootstrap-insert")
_BOOTSTRAP = ("bootstrap-start", "bootstrap-complete")
_SCHEMA_CHANGES = frozenset(
    f"{what}-{change}" for what in ("table", "database") for change in ("create", "alter", "drop")
)


class MaxwellReader:
    """Reads ``{"database", "table", "type", "ts", "data", "old"}``."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, text: str, key: str | None) -> Event | Ignored:
        root = parse_object(text)
        change = member(root, "type", str)
        if change in _BOOTSTRAP:
            return Ignored("bootstrap", change)
        if change in _SCHEMA_CHANGES:
            return Ignored("schema-change", str(root.get("sql") or change))
        data = folded(member(root, "data", dict), self._reading)
        source_keys = folded_names(names_of(root.get("primary_key_columns"), "primary_key_columns"), self._reading)
        keys = self._reading.keys or source_keys
        rows: tuple[tuple[int, Image], ...]
        if change in _INSERTS:
            rows = ((INSERT, data),)
        elif change == "delete":
            rows = ((DELETE, data),)
        elif change == "update":
            old = folded(member(root, "old", dict, " where 'type' is 'update'"), self._reading)
            rows = update_rows({**data, **old}, data, keys)
        else:
            raise MalformedMessage(f"'type' is '{change:.80}', expected insert, update or delete")
        seconds = optional_member(root, "ts", int)
        return Event(
            optional_member(root, "database", str),
            optional_member(root, "table", str),
            rows,
            None,
            keys,
            None if seconds is None else seconds * 1000,
        )
