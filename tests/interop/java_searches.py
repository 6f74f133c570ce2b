"""Searches for vectors by the genuine Java, which looks at the rows that no index covers. Runs where the JVM is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jpype
from genuine_values import codec
from java_table import table_at

EVERY_ROW = {"global-index.search-mode": "full"}


def nearest_rows(
    paimon: Any, path: str, column: str, vector: Sequence[float], count: int, metric: str, least: tuple[str, int] | None
) -> list[tuple[int, float]]:
    """(row id, score) of the rows that Java finds, the nearest first; least: a column, and its smallest value."""
    table = table_at(paimon, path, EVERY_ROW)
    builder = table.newVectorSearchBuilder().withVectorColumn(column).withVector(jpype.JArray(jpype.JFloat)(vector))
    builder = builder.withLimit(count).withOption("metric", metric)
    if least is not None:
        shape = table.rowType()
        place = shape.getFieldIndex(least[0])
        value = codec(shape.getTypeAt(place)).encode(least[1])
        builder = builder.withFilter(paimon.predicate.PredicateBuilder(shape).greaterOrEqual(place, value))
    result = builder.executeLocal()
    ids = [int(each) for each in result.results()]
    if not ids:
        return []
    scores = result.scoreGetter()
    found = [(row_id, float(scores.score(row_id))) for row_id in ids]
    return sorted(found, key=lambda each: (-each[1], each[0]))
