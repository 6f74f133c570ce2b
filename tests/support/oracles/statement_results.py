"""What statements of SQL return, in a form that is equal for equal results whatever connector they come from.

The official connector runs in another release of Spark, so this module imports nothing but Spark and the library.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any


def statements(script: Path) -> Iterator[str]:
    """The statements of a script, which end with a semicolon at the end of a line."""
    for text in script.read_text("utf-8").split(";\n"):
        if text.strip():
            yield text.strip()


def result_of(run: Callable[[str], Any], text: str) -> dict[str, Any]:
    """The rows of a statement, in the order of their texts, or that it is refused.

    Args:
        run: makes a DataFrame of a statement; an exception of any kind is a refusal.
    """
    try:
        frame = run(text)
        if not frame.columns:
            return {"sql": text}
        rows = [[plain(value) for value in row] for row in frame.collect()]
    except Exception as error:
        return {"sql": text, "refused": type(error).__name__}
    return {"sql": text, "rows": sorted(rows, key=repr)}


def plain(value: Any) -> Any:
    """A value of a row as JSON has it: texts and lists."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case Decimal():
            return str(value)
        case dt.datetime() | dt.date():
            return value.isoformat()
        case bytes() | bytearray():
            return bytes(value).hex()
        case dict():
            return sorted(([plain(key), plain(inner)] for key, inner in value.items()), key=repr)
        case list() | tuple():
            return [plain(inner) for inner in value]
    raise TypeError(f"no text for {value!r}")
