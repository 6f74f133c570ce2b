"""JSON files of a table: strict reading with typed access, and writing in the style of the Java system."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from paimon_spark import limits
from paimon_spark.errors import CorruptFile
from paimon_spark.format.names import checked_name

_INT64 = range(-(2**63), 2**63)
_MAX_EXPONENT = 400  # a double has 308; a number that is written out takes as many digits


@dataclass(frozen=True)
class JsonObject:
    """One decoded JSON object and the file it came from. An explicit null counts as absent.

    Every accessor raises CorruptFile, naming file and key, when the value is not what it must be.
    """

    values: Mapping[str, Any]
    where: str

    def get(self, key: str) -> Any:
        return self.values.get(key)

    def corrupt(self, key: str, expected: str) -> CorruptFile:
        found = "is missing" if self.get(key) is None else f"is {self.values[key]!r:.200}"
        return CorruptFile(f"cannot read {self.where}: '{key}' {found}, expected {expected}")

    def optional_integer(self, key: str) -> int | None:
        value = self.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value not in _INT64):
            raise self.corrupt(key, "an integer of 64 bits")
        return value

    def integer(self, key: str) -> int:
        value = self.optional_integer(key)
        if value is None:
            raise self.corrupt(key, "an integer of 64 bits")
        return value

    def optional_text(self, key: str) -> str | None:
        value = self.get(key)
        if value is not None and not isinstance(value, str):
            raise self.corrupt(key, "a text")
        return value

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if value is None:
            raise self.corrupt(key, "a text")
        return value

    def optional_name(self, key: str) -> str | None:
        """The name of a file in a directory of the table."""
        value = self.optional_text(key)
        return None if value is None else checked_name(value, key, self.where)

    def name(self, key: str) -> str:
        return checked_name(self.text(key), key, self.where)

    def array(self, key: str) -> list[Any]:
        value = self.get(key)
        if not isinstance(value, list):
            raise self.corrupt(key, "a list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; an absent one is empty."""
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.corrupt(key, "a list of texts")
        return tuple(value)

    def optional_text_map(self, key: str) -> dict[str, str] | None:
        """An object of texts. Numbers and booleans become their JSON text as in Java, nulls are left out."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.corrupt(key, "an object")
        texts = {}
        for name, item in value.items():
            if isinstance(item, dict | list):
                raise self.corrupt(key, f"a text under '{name}'")
            if item is not None:
                texts[name] = item if isinstance(item, str) else format_json(item)
        return texts

    def others(self, known: frozenset[str]) -> dict[str, Any]:
        """The keys that only a newer release knows. They are kept when the file is written again."""
        return {key: value for key, value in self.values.items() if key not in known}


def parse_json_object(data: bytes, where: str) -> JsonObject:
    """The one JSON object that the whole file is. Fractions come as Decimal: they are written back digit for digit.

    Raises:
        CorruptFile: the bytes are not UTF-8, not JSON, or not an object; the message names where.
    """
    try:
        value = load_json(data, _fraction)
        if b"\\u" in data:
            format_json(value).encode("utf-8")  # an unpaired surrogate cannot be stored again
    except (ValueError, RecursionError) as error:
        raise CorruptFile(
            f"cannot read {where}: it is not a JSON text ({error}); its {len(data)} bytes begin with {data[:40]!r}"
        ) from None
    if not isinstance(value, dict):
        raise CorruptFile(f"cannot read {where}: it holds a JSON {type(value).__name__}, expected an object")
    return JsonObject(value, where)


def load_json(data: bytes, parse_float: Callable[[str], Any] = float) -> Any:
    """The value of a JSON text, which must not exceed the size and depth of genuine files.

    Args:
        data: the text.
        parse_float: makes a value of a fraction.

    Raises:
        ValueError, RecursionError: it is not UTF-8, not JSON, or too large or deep.
    """
    _check_size(data)
    value = json.loads(data.decode("utf-8"), parse_float=parse_float, parse_constant=_refuse_constant)
    check_depth(value)
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _fraction(text: str) -> Decimal:
    value = Decimal(text)
    if abs(value.adjusted()) > _MAX_EXPONENT or len(text) > _MAX_EXPONENT:
        raise ValueError(f"the number {text:.40} is out of range")
    return value


def _check_size(data: bytes) -> None:
    """Checks the size and the number of values before the text is parsed; raises ValueError if there are too many."""
    if len(data) > limits.MAX_JSON_BYTES:
        raise ValueError(f"it is larger than {limits.MAX_JSON_BYTES} bytes; {limits.ADVICE}")
    if sum(map(data.count, (b",", b"[", b"{"))) > limits.MAX_JSON_VALUES:
        raise ValueError(f"it holds more than {limits.MAX_JSON_VALUES} values; {limits.ADVICE}")


def check_depth(value: Any) -> None:
    """Checks how deep a value is nested; raises ValueError if it is too deep."""
    level = [value]
    for _ in range(limits.MAX_JSON_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {limits.MAX_JSON_DEPTH} levels")


def format_json(value: Any) -> str:
    """The JSON text as Jackson's default pretty printer lays it out: 2 spaces, ``"key" : value``, ``[ a, b ]``."""
    return _format(value, "\n")


def format_present(values: Mapping[str, Any]) -> bytes:
    """The content of a file of one object, without the keys whose value is None."""
    return format_json({key: value for key, value in values.items() if value is not None}).encode()


def _format(value: Any, line: str) -> str:
    if isinstance(value, Mapping):
        if not value:
            return "{ }"
        inner = line + "  "
        items = (f"{_scalar(str(key))} : {_format(item, inner)}" for key, item in value.items())
        return "{" + inner + f",{inner}".join(items) + line + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[ " + ", ".join(_format(item, line) for item in value) + " ]" if value else "[ ]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
