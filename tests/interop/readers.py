"""What all readers must agree on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import our_engine
from genuine import NO_OPTIONS, Genuine
from support.oracles.comparing import Row, comparable, comparable_rows

from paimon_spark import open_table


def java_read(java: Genuine, path: str, options: Mapping[str, str] = NO_OPTIONS) -> Counter[Row]:
    """All rows as Java reads them, comparable with ours."""
    rows = [row for _, row in java.read(path, options=options)]
    return comparable_rows(rows, our_engine.types(path, options))


def assert_same(path: str, javas: Sequence[Genuine], options: Mapping[str, str] = NO_OPTIONS) -> Counter[Row]:
    """We and every Java read the same rows; returns them."""
    ours = our_engine.read(path, options)
    for java in javas:
        theirs = java_read(java, path, options)
        only = f"only in Java: {list(theirs - ours)}; only in ours: {list(ours - theirs)}"
        assert theirs == ours, f"{dict(options)}: {only}"
    return ours


def said(path: str) -> dict[str, Any]:
    """What the latest snapshot says, but for names, times and who it was."""
    latest = open_table(path).snapshots.latest_id()
    found = json.loads(Path(path, "snapshot", f"snapshot-{latest}").read_text())
    names = {"baseManifestList", "deltaManifestList", "indexManifest", "commitUser", "timeMillis", "uuid"}
    sizes = {"baseManifestListSize", "deltaManifestListSize"}
    return {key: value for key, value in found.items() if key not in names | sizes and value is not None}


@contextmanager
def telling(log: Iterable[str]) -> Iterator[None]:
    """An error within tells what was done before."""
    try:
        yield
    except Exception as error:
        error.add_note("\n".join(log))
        raise


def our_change(path: str, options: Mapping[str, str]) -> Counter[Row]:
    """The rows of a change as we read them, the row kind before the values."""
    table = open_table(path, options)
    return comparable(table.scan(["_row_kind", *table.schema.names]).to_arrow())


def java_change(java: Genuine, path: str, options: Mapping[str, str]) -> Counter[Row]:
    """The rows of a change as Java's audit log has them, the row kind before the values."""
    types, made = our_engine.types(path, options), Counter[Row]()
    for kind, row in java.audit_log(path, options):
        (comparable_row,) = comparable_rows([row], types)
        made[(kind, *comparable_row)] += 1
    return made
