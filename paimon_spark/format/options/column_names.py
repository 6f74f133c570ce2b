"""Column names as one text: separated by commas, in backquotes where a name holds a comma or blanks at its ends."""

from __future__ import annotations

import re

from paimon_spark.errors import OptionError

_NAME = r"\s*(?:`(?:[^`]|``)+`|[^,`\s][^,`]*)\s*"


def parse_columns(text: str) -> tuple[str, ...]:
    """The names of a comma list; a name with a comma or blanks at its ends stands in backquotes.

    Raises:
        OptionError: the list is empty, a name is, or a backquote is not closed.
    """
    if not re.fullmatch(rf"{_NAME}(?:,{_NAME})*,?\s*", text):
        raise OptionError(f"'columns' has the value '{text}': expected column names separated by commas")
    names = (name.strip() for name in re.findall(_NAME, text))
    return tuple(name[1:-1].replace("``", "`") if name.startswith("`") else name for name in names)


def format_columns(names: tuple[str, ...]) -> str:
    """The text that ``parse_columns`` reads back as these names."""
    return ",".join("`" + name.replace("`", "``") + "`" for name in names)
