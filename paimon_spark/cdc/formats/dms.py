"""Messages of the AWS Database Migration Service in JSON (Java: DMSRecordParser)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_spark.cdc.events import (
    Event,
    Ignored,
    Image,
    MalformedMessage,
    Reading,
    folded,
    member,
    optional_member,
    update_rows,
)
from paimon_spark.cdc.json_values import epoch_millis, parse_object
from paimon_spark.format.row_kind import DELETE, INSERT

_BEFORE = "BI_"  # the usual prefix of the transformation rule add-before-image-columns


class DmsReader:
    """Reads ``{"data", "metadata", "before-image"}``."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, text: str, key: str | None) -> Event | Ignored:
        root = parse_object(text)
        metadata = member(root, "metadata", dict)
        record, operation = (member(metadata, name, str, " in 'metadata'") for name in ("record-type", "operation"))
        database, table = (optional_member(metadata, name, str) for name in ("schema-name", "table-name"))
        if record != "data":
            if operation.startswith("truncate"):
                return Ignored("truncate", f"table {database}.{table}")
            return Ignored("schema-change" if "table" in operation or "column" in operation else "control", operation)
        keys = self._reading.keys
        return Event(
            database,
            table,
            self._rows(root, operation, keys),
            None,
            keys,
            0 if operation == "load" else epoch_millis(metadata.get("timestamp"), "timestamp"),
            database,
        )

    def _rows(self, root: Mapping[str, Any], operation: str, keys: tuple[str, ...]) -> tuple[tuple[int, Image], ...]:
        data, old = _divided(member(root, "data", dict))
        image = optional_member(root, "before-image", dict)
        old = old if image is None else image
        after = folded(data, self._reading)
        if operation in ("load", "insert"):
            return ((INSERT, after),)
        if operation == "delete":
            return ((DELETE, after),)
        if operation != "update":
            raise MalformedMessage(f"'operation' is '{operation:.80}', expected load, insert, update or delete")
        # What no image before the update holds did not change (Java: also where there is none at all).
        return update_rows({**after, **folded(old, self._reading)}, after, keys)


def _divided(data: Image) -> tuple[Image, Image]:
    """The columns of a row, and those of its image before the update, which stand beside them under a prefix."""
    old = {name for name in data if name.startswith(_BEFORE) and name[len(_BEFORE) :] in data}
    if not old:
        return data, {}
    kept = {name: value for name, value in data.items() if name not in old}
    return kept, {name[len(_BEFORE) :]: data[name] for name in old}
