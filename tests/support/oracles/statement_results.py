"""What statements of SQL return, in a form that is equal for equal results whatever connector they come from.

The official connector runs in another release of Spark, so this module imports nothing but Spark and the library.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

WAREHOUSE = "${warehouse}"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ORDERED = re.compile(r"\bORDER BY [^()]*$", re.IGNORECASE)
"""The end of a statement that orders all its rows."""


def statements(script: Path) -> Iterator[str]:
    """The statements of a script, which end with a semicolon at the end of a line."""
    for text in script.read_text("utf-8").split(";\n"):
        if text.strip():
            yield text.strip()


def result_of(run: Callable[[str], Any], text: str, warehouse: str) -> dict[str, Any]:
    """The columns and rows of a statement, or that it is refused.

    A column is its name and its type. Rows are in the order of their texts, where the statement gives them no order.

    Args:
        run: makes a DataFrame of a statement; an exception of any kind is a refusal.
        warehouse: the directory of the catalog, which ``${warehouse}`` stands for in statements and results.
    """
    try:
        frame = run(text.replace(WAREHOUSE, warehouse))
        columns = [f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields]
        rows = [[plain(value) for value in row] for row in frame.collect()]
    except Exception as error:
        return {"sql": text, "refused": type(error).__name__}
    if not columns:
        return {"sql": text}
    found = {"columns": columns, "rows": rows if ORDERED.search(text) else sorted(rows, key=repr)}
    return {"sql": text} | {what: repeatable(value, warehouse) for what, value in found.items()}


def repeatable(value: Any, warehouse: str) -> Any:
    """A value without what each run has another of: the directory of the catalog and random parts of names."""
    if isinstance(value, list):
        return [repeatable(inner, warehouse) for inner in value]
    if not isinstance(value, str):
        return value
    return UUID.sub("${uuid}", re.sub(f"(file:/*)?{re.escape(warehouse)}", WAREHOUSE, value))


def plain(value: Any) -> Any:
    """A value of a row as JSON has it: texts and lists."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case Decimal():
            return str(value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case bytes() | bytearray():
            return bytes(value).hex()
        case dict():
            return sorted(([plain(key), plain(inner)] for key, inner in value.items()), key=repr)
        case list() | tuple():
            return [plain(inner) for inner in value]
    raise TypeError(f"no text for {value!r}")
