"""Names between backquotes, as SQL texts and lists of columns have them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name between backquotes, which Spark takes literally."""
    return f"`{name.replace('`', '``')}`"


def quoted_if_needed(name: str) -> str:
    """A name, between backquotes if it is more than ASCII letters, digits and underscores."""
    return name if name.isidentifier() and name.isascii() else quoted(name)
