"""The options of file indexes when their columns are renamed or dropped.

The official system refuses both for a column with an index, because the options then name no column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_LIST = re.compile(r"file-index\.[a-z-]+\.columns")
_OF_COLUMN = re.compile(r"(file-index\.[a-z-]+\.)(.+)(\.[a-z-]+)")


def with_renamed_indexes(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The options with another name for a column with indexes, or with indexes of keys of its map."""
    return _edited(options, lambda name: new + name[len(old) :] if _is_of(name, old) else name)


def without_indexes(options: Mapping[str, str], column: str) -> dict[str, str]:
    """The options without the indexes of a column."""
    return _edited(options, lambda name: None if _is_of(name, column) else name)


def _is_of(name: str, column: str) -> bool:
    return name == column or (name.startswith(f"{column}[") and name.endswith("]"))


def _edited(options: Mapping[str, str], edit: Callable[[str], str | None]) -> dict[str, str]:
    """The options in which each name of an indexed column is edited; None takes it out."""
    found: dict[str, str] = {}
    for key, value in options.items():
        if _LIST.fullmatch(key):
            names = [edit(name.strip()) for name in value.split(",")]
            left = ",".join(name for name in names if name is not None)
            if left:
                found[key] = left
        elif match := _OF_COLUMN.fullmatch(key):
            name = edit(match[2])
            if name is not None:
                found[f"{match[1]}{name}{match[3]}"] = value
        else:
            found[key] = value
    return found
