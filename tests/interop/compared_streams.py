"""Streams of one table, ours and Java's, compared snapshot by snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import our_engine
import pyarrow as pa
from genuine import Genuine
from java_streams import java_stream
from support.oracles.comparing import Row, comparable, comparable_rows
from support.tables.micro_batches import opened

from paimon_spark import open_table


def compare_streams(path: str, java: Genuine, options: Mapping[str, str], go_on: Callable[[], None]) -> int:
    """Both streams have the same rows from their beginning, and from there on after more has happened.

    Args:
        go_on: what happens to the table meanwhile.

    Returns:
        How many rows both had.
    """
    javas, position = java.run(java_stream, path, options)
    stream = opened(open_table(path), options, row_kinds=True)
    run = stream.start()
    at = run.first()
    if at.full and javas:  # the deletions of a state are of keys that nobody was told of
        javas = [[event for event in javas[0] if event[0] not in ("-U", "-D")], *javas[1:]]
    first, at = _ours(path, stream, run, at)
    _assert_same(first, _javas(path, javas))
    go_on()
    more, _ = _ours(path, stream, run, at)
    javas, _ = java.run(java_stream, path, options, position)
    if position is not None:
        _assert_same(more, _javas(path, javas))
    return sum(rows.total() for rows in (*first, *more))


def _assert_same(ours: list[Counter[Row]], javas: list[Counter[Row]]) -> None:
    different = [(our - java, java - our) for our, java in zip(ours, javas, strict=False) if our != java]
    assert different == [], "(rows of ours alone, rows of Java's alone) by snapshot"
    assert len(ours) == len(javas)


def _ours(path: str, stream: Any, run: Any, at: Any) -> tuple[list[Counter[Row]], Any]:
    """The rows of each snapshot, and where the stream goes on."""
    found: list[Counter[Row]] = []
    table = open_table(path)
    latest = table.snapshots.latest_id() or 0
    names = ["_row_kind", *(field.name for field in table.schema.fields)]
    while at.snapshot <= latest:
        end = replace(at, snapshot=at.snapshot + 1, full=False, after=None)
        rows: Counter[Row] = Counter()
        for unit in run.units(at, end):
            for batch in stream.reader.read(unit):
                rows.update(comparable(pa.Table.from_batches([batch.select(names)])))
        found += [rows] if rows else []
        at = end
    return found, at


def _javas(path: str, plans: list[list[tuple[str, tuple[Any, ...]]]]) -> list[Counter[Row]]:
    types = our_engine.types(path)
    made = []
    for plan in plans:
        rows: Counter[Row] = Counter()
        for kind, values in plan:
            rows[(kind, *next(iter(comparable_rows([values], types))))] += 1
        made += [rows] if rows else []
    return made
