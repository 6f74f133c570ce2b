"""What the genuine Java says of the file indexes of a table; run where the JVM is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jpype
from genuine_values import codec
from java_table import table_at

Condition = tuple[Any, ...]
"""("and" or "or", condition, condition), or a method of PredicateBuilder and its values: ("equal", 5)."""


def files_left(paimon: Any, path: str, column: str, conditions: Sequence[Condition]) -> list[list[str]]:
    """For each condition on a column the names of the files whose index leaves a row that may satisfy it."""
    table = table_at(paimon, path)
    row_type = table.rowType()
    place = row_type.getFieldIndex(column)
    files = [
        (str(file.fileName()), _index(paimon, table, split, file, row_type))
        for split in table.newSnapshotReader().read().dataSplits()
        for file in split.dataFiles()
    ]
    builder = paimon.predicate.PredicateBuilder(row_type)
    encode = codec(row_type.getTypeAt(place)).encode
    made = [_predicate(paimon, builder, place, encode, condition) for condition in conditions]
    return [sorted(name for name, index in files if index.evaluate(predicate).remain()) for predicate in made]


def _index(paimon: Any, table: Any, split: Any, file: Any, row_type: Any) -> Any:
    predicate = paimon.fileindex.FileIndexPredicate
    if file.embeddedIndex() is not None:
        return predicate(file.embeddedIndex(), row_type)
    (name,) = file.extraFiles()
    return predicate(paimon.fs.Path(f"{split.bucketPath()}/{name}"), table.fileIO(), row_type)


def _predicate(paimon: Any, builder: Any, place: int, encode: Any, condition: Condition) -> Any:
    kind, *values = condition
    if kind in ("and", "or"):
        parts = [_predicate(paimon, builder, place, encode, part) for part in values]
        return getattr(paimon.predicate.PredicateBuilder, f"{kind}_")(*parts)
    if kind == "in":
        return builder.in_(place, jpype.java.util.ArrayList([encode(value) for value in values]))
    return getattr(builder, kind)(place, *map(encode, values))
