"""JSON texts as values, number for number, and points in time as messages write them outside of rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from paimon_spark.cdc.events import MalformedMessage
from paimon_spark.format.json_text import check_depth
from paimon_spark.limits import MAX_JSON_DEPTH


class NumberText(str):
    """A JSON number with a fraction or an exponent, as it is written. Whole numbers come as int."""

    __slots__ = ()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=NumberText, parse_constant=_refuse_constant, strict=False)


def scan_value(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at a position of a text, and the position after it (json.JSONDecoder.raw_decode).

    Raises:
        ValueError, RecursionError: it is not JSON, or nested too deep.
    """
    value, end = _DECODER.raw_decode(text, start)
    _check(text, value)
    return value, end


def _check(text: str, value: Any) -> None:
    """Checks a value that is nested deep, which `value_text` could not write, and texts that are no Unicode.

    Raises:
        ValueError: it is nested too deep, or a text has an unpaired surrogate, which no column can hold.
    """
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH:  # else it cannot be
        check_depth(value)
    if "\\ud" in text or "\\uD" in text:
        _compact(value).encode()


def parse_json(text: str) -> Any:
    """The value of a whole JSON text. Of keys that come twice the last one counts, as in Java.

    Raises:
        MalformedMessage: it is not JSON, or nested too deep.
    """
    try:
        value = _DECODER.decode(text)
        _check(text, value)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"it is not a JSON text ({error})") from None
    return value


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is.

    Raises:
        MalformedMessage: it is not JSON, or another value than an object.
    """
    value = parse_json(text)
    if not isinstance(value, dict):
        raise MalformedMessage(f"it is a JSON {type(value).__name__}, expected an object")
    return value


def value_text(value: Any) -> str | None:
    """The value as a column of text holds it: texts as they are, nested values as JSON without blanks; None is null."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return _compact(value)
    return _scalar(value)


def _compact(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return _quoted(value) if isinstance(value, str) and not isinstance(value, NumberText) else _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def epoch_millis(value: Any, name: str) -> int | None:
    """A time in ISO form, in UTC where it names no zone, as milliseconds since the epoch; None stays None.

    Raises:
        MalformedMessage: it is something else.
    """
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise MalformedMessage(f"'{name}' is {value!r:.80}, expected a time such as 2026-11-01T12:00:00Z") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
