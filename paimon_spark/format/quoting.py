"""Names in texts: between backquotes, as SQL and lists of columns have them, and near ones for messages."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_spark.errors import similar_names


def quoted(name: str) -> str:
    """A name between backquotes, which Spark takes literally."""
    return f"`{name.replace('`', '``')}`"


def quoted_if_needed(name: str) -> str:
    """A name, between backquotes if it is more than ASCII letters, digits and underscores."""
    return name if name.isidentifier() and name.isascii() else quoted(name)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`` (did you mean x?)`` for a name that is not there; empty: none is like it."""
    near = similar_names(name, names)
    return f" (did you mean {near[0]}?)" if near else ""
