"""Messages of Debezium in JSON, with and without their schema (Java: DebeziumJsonRecordParser)."""

from __future__ import annotations

from base64 import b64encode
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
from paimon_spark.cdc.formats.kafka_connect import Envelopes, row_columns, struct_columns
from paimon_spark.format.row_kind import DELETE, INSERT

_UNAVAILABLE = "__debezium_unavailable_value"
"""What Debezium writes by default for a value that it does not know."""
_UNAVAILABLE_BYTES = b64encode(_UNAVAILABLE.encode()).decode()


class DebeziumReader:
    """Reads envelopes of Debezium: ``before``, ``after``, ``source``, ``op``."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._values = Envelopes(lambda schema: self._folded(row_columns(schema)))
        self._keys = Envelopes(struct_columns)

    def read(self, text: str, key: str | None) -> Event | Ignored:
        payload, columns = self._values.open(text)
        if payload is None:
            return Ignored("tombstone")
        if not isinstance(payload, dict):
            raise MalformedMessage(f"the payload is {payload!r:.80}, expected an object")
        op = payload.get("op")
        if op is None:
            return _without_rows(payload)
        source = optional_member(payload, "source", dict) or {}
        if op == "t":
            return Ignored("truncate", f"table {source.get('db')}.{source.get('table')}")
        if op == "m":
            return Ignored("message", "a logical message of the database")
        keys, key_image = self._key(payload, key)
        rows = self._rows(op, payload, keys, key_image)
        snapshot = source.get("snapshot") not in (None, False, "false")
        return Event(
            _text(source, "db"),
            _text(source, "table") or _text(source, "collection"),
            rows,
            columns,
            keys,
            0 if snapshot else optional_member(source, "ts_ms", int),
            _text(source, "schema"),
        )

    def _rows(
        self, op: Any, payload: Mapping[str, Any], keys: tuple[str, ...], key_image: Image | None
    ) -> tuple[tuple[int, Image], ...]:
        before, after = (optional_member(payload, name, dict) for name in ("before", "after"))
        before = None if before is None else folded(before, self._reading)
        after = None if after is None else folded(after, self._reading)
        if op == "d":
            if before is None:
                before = key_image
            if before is None:
                raise MalformedMessage(
                    "'before' is missing, and the message has no key, so nothing says what 'd' deletes"
                )
            return ((DELETE, before),)
        if op not in ("c", "r", "u"):
            raise MalformedMessage(f"'op' is {op!r:.80}, expected one of c, r, u, d, t, m")
        if after is None:
            raise MalformedMessage(f"'after' is missing where 'op' is {op!r}")
        _check_available(after)
        if op != "u":
            return ((INSERT, after),)
        # Java: what a partial image before the update does not hold did not change.
        whole = None if before is None else {**after, **before}
        return update_rows(whole, after, keys)

    def _folded(self, columns: Columns | None) -> Columns | None:
        return None if columns is None else Columns(folded(dict(columns.by_name), self._reading))

    def _key(self, payload: Mapping[str, Any], key: str | None) -> tuple[tuple[str, ...], Image | None]:
        """The names of the key's columns, and the key as a row; the message's own ``pkNames`` come first (Java)."""
        image = None
        if key is not None:
            value, _ = self._keys.open(key)
            image = folded(value, self._reading) if isinstance(value, dict) else None
        source_keys = folded_names(names_of(payload.get("pkNames"), "pkNames"), self._reading)
        return self._reading.keys or source_keys or tuple(image or ()), image


def _check_available(after: Image) -> None:
    """A database does not log large values that a change leaves as they are; then nobody knows the row.

    Raises:
        MalformedMessage: a value of the row is not known.
    """
    for name, value in after.items():
        if value in (_UNAVAILABLE, _UNAVAILABLE_BYTES) or (isinstance(value, list) and _UNAVAILABLE in value):
            raise MalformedMessage(
                f"column '{name}' has the placeholder {_UNAVAILABLE}, because the database did not log a large value "
                "that did not change; let it log whole rows (PostgreSQL: ALTER TABLE ... REPLICA IDENTITY FULL)"
            )


def _text(source: Mapping[str, Any], name: str) -> str | None:
    found: str | None = optional_member(source, name, str)
    return found


def _without_rows(payload: Mapping[str, Any]) -> Ignored:
    """What an event without ``op`` is, by its members: Debezium has three such kinds.

    Raises:
        MalformedMessage: it is none of them.
    """
    if "ddl" in payload or "tableChanges" in payload:
        return Ignored("schema-change", str(payload.get("ddl") or ""))
    if payload.get("status") in ("BEGIN", "END") and "id" in payload:
        return Ignored("transaction", f"{payload['status']} {payload['id']}")
    if payload.keys() == {"ts_ms"}:
        return Ignored("heartbeat")
    member(payload, "op", str)
    raise AssertionError("unreachable")
