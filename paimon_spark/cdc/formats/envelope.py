"""JSON texts of Kafka Connect with their schema: ``{"schema": ..., "payload": ...}``, or the payload alone.

The schema is longer than the payload and the same in each message. So the text of schemas that were seen is kept, and a
message that begins with one is read from its payload on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_spark.cdc.encodings import Columns
from paimon_spark.cdc.errors import MalformedMessage
from paimon_spark.cdc.json_values import parse_json, scan_value

_BEGIN = '{"schema":'
_PAYLOAD = ',"payload":'
_MOST_SCHEMAS = 64


class Envelopes:
    """Splits messages in their payload and what their schema says."""

    def __init__(self, describe: Callable[[Mapping[str, Any]], Columns | None]) -> None:
        self._describe = describe
        self._known: dict[str, Columns | None] = {}
        self._last = ""

    def open(self, text: str) -> tuple[Any, Columns | None]:
        """The payload, and the columns that the schema tells; None without a schema.

        Raises:
            MalformedMessage: it is not JSON, or its schema is none of Kafka Connect.
        """
        prefix = self._known_prefix(text)
        if prefix:
            try:
                payload, end = scan_value(text, len(prefix))
            except (ValueError, RecursionError):
                end = 0  # a blank before the payload, or no JSON: the whole text is read, or refused
            if end and text[end:].strip() == "}":
                return payload, self._known[prefix]
        value = parse_json(text)
        if not isinstance(value, dict) or "schema" not in value or "payload" not in value:
            return value, None
        schema = value["schema"]
        if schema is None:
            return value["payload"], None
        if not isinstance(schema, dict):
            raise MalformedMessage(f"'schema' is {schema!r:.80}, expected an object")
        columns = self._describe(schema)
        self._remember(text, columns)
        return value["payload"], columns

    def _known_prefix(self, text: str) -> str:
        if not text.startswith(_BEGIN):
            return ""
        if self._last and text.startswith(self._last):
            return self._last
        self._last = next((prefix for prefix in self._known if text.startswith(prefix)), "")
        return self._last

    def _remember(self, text: str, columns: Columns | None) -> None:
        """Keeps what stands before the payload, if it is written as Kafka Connect writes it."""
        if not text.startswith(_BEGIN + "{"):
            return
        _, end = scan_value(text, len(_BEGIN))
        if text.startswith(_PAYLOAD, end):
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            self._last = text[: end + len(_PAYLOAD)]
            self._known[self._last] = columns
