"""The shape of what a REST server answers, as far as it is read here: a list where a list belongs, a text for a text.

What values mean is checked where they are used.
"""

from __future__ import annotations

from typing import Any

_LISTS = ("databases", "tables", "views", "functions", "partitions", "filter", "inputParams", "returnParams")
_OBJECTS = ("schema", "token", "columnMasking", "definitions", "options", "defaults", "overrides")
_OF_SCHEMA = {"fields": list, "partitionKeys": list, "primaryKeys": list, "options": dict}
_TEXT_MAPS = ("options", "defaults", "overrides")


def checked_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, if what is there has the shape that the protocol gives it.

    Raises:
        ValueError: it has another one. The text names the key, and shows no value.
    """
    for key in _LISTS:
        _check(answer, key, list)
    for key in _OBJECTS:
        _check(answer, key, dict)
    schema = answer.get("schema") or {}
    for key, kind in _OF_SCHEMA.items():
        _check(schema, key, kind)
    for texts in (schema.get("options"), *(answer.get(key) for key in _TEXT_MAPS)):
        if any(not isinstance(value, str | int | float | None) for value in (texts or {}).values()):
            raise ValueError("an option is neither a text nor a number")
    for one in answer.get("partitions") or ():
        if not isinstance(one, dict):
            raise ValueError("a partition is no object")
        _check(one, "spec", dict)
    return answer


def _check(found: dict[str, Any], key: str, kind: type) -> None:
    value = found.get(key)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"'{key}' is a {type(value).__name__}, expected a {kind.__name__}")
