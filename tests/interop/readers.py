"""What all readers must agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import our_engine
from comparing import Row, comparable_rows
from genuine import NO_OPTIONS, Genuine


def java_read(java: Genuine, path: str, options: Mapping[str, str] = NO_OPTIONS) -> Counter[Row]:
    """All rows as Java reads them, comparable with ours."""
    rows = [row for _, row in java.read(path, options=options)]
    return comparable_rows(rows, our_engine.types(path, options))


def assert_same(path: str, javas: Sequence[Genuine], options: Mapping[str, str] = NO_OPTIONS) -> Counter[Row]:
    """We and every Java read the same rows; returns them."""
    ours = our_engine.read(path, options)
    for java in javas:
        assert java_read(java, path, options) == ours
    return ours
