"""Column names as one text: separated by commas, in backquotes where a name holds a comma or blanks at its ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

from paimon_spark.errors import OptionError

_NAME = r"\s*(?:`(?:[^`]|``)+`|[^,`\s][^,`]*)\s*"


def parse_columns(text: str) -> tuple[str, ...]:
    """The names of a comma list; a name with a comma or blanks at its ends stands in backquotes.

    Raises:
        OptionError: the list is empty, a name is, or a backquote is not closed.
    """
    if re.fullmatch(r"""\s*[\[(]\s*(['"]).*\1,?\s*[\])]\s*""", text):
        raise OptionError(
            f"'columns' has the value '{text}', which is the text of a list: join the names with commas, such as "
            "option('columns', 'id, total')"
        )
    if not re.fullmatch(rf"{_NAME}(?:,{_NAME})*,?\s*", text):
        raise OptionError(f"'columns' has the value '{text}': expected column names separated by commas")
    names = (name.strip() for name in re.findall(_NAME, text))
    return tuple(name[1:-1].replace("``", "`") if name.startswith("`") else name for name in names)


def given_columns(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The names that a caller gave one by one, or as one text; None: it gave none.

    Raises:
        OptionError: as for parse_columns.
    """
    if columns is None:
        return None
    return parse_columns(columns) if isinstance(columns, str) else tuple(columns)


def format_columns(names: tuple[str, ...]) -> str:
    """The text that ``parse_columns`` reads back as these names."""
    return ",".join("`" + name.replace("`", "``") + "`" for name in names)
