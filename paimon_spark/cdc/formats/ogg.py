"""Messages of Oracle GoldenGate in JSON (Java: OggRecordParser)."""

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
    folded_names,
    member,
    names_of,
    optional_member,
    update_rows,
)
from paimon_spark.cdc.json_values import epoch_millis, parse_object
from paimon_spark.format.row_kind import DELETE, INSERT


class OggReader:
    """Reads ``{"table", "op_type", "op_ts", "before", "after", "primary_keys"}``."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def read(self, text: str, key: str | None) -> Event | Ignored:
        root = parse_object(text)
        op = member(root, "op_type", str)
        name = optional_member(root, "table", str)
        if op == "T":
            return Ignored("truncate", f"table {name}")
        source_keys = folded_names(names_of(root.get("primary_keys"), "primary_keys"), self._reading)
        keys = self._reading.keys or source_keys
        before, after = self._image(root, "before"), self._image(root, "after")
        database, _, table = (name or "").rpartition(".")
        schema = database.rpartition(".")[2]
        return Event(
            schema or None,
            table or None,
            _rows(op, before, after, keys),
            None,
            keys,
            epoch_millis(root.get("op_ts"), "op_ts"),
            schema or None,
        )

    def _image(self, root: Mapping[str, Any], name: str) -> Image | None:
        image = optional_member(root, name, dict)
        return None if image is None else folded(image, self._reading)


def _rows(op: str, before: Image | None, after: Image | None, keys: tuple[str, ...]) -> tuple[tuple[int, Image], ...]:
    if op == "D":
        if before is None:
            raise MalformedMessage("'before' is missing where 'op_type' is 'D'")
        return ((DELETE, before),)
    if op not in ("I", "U"):
        raise MalformedMessage(f"'op_type' is '{op:.80}', expected I, U, D or T")
    if after is None:
        raise MalformedMessage(f"'after' is missing where 'op_type' is '{op}'")
    if op == "I":
        return ((INSERT, after),)
    # A compressed update leaves out what did not change, on either side.
    return update_rows(None if before is None else {**after, **before}, {**(before or {}), **after}, keys)
