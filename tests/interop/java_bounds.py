"""What the genuine Java answers from metadata alone; run where the JVM is."""

from __future__ import annotations

from typing import Any

import jpype
from genuine_values import codec, objects
from java_table import table_at

Ends = tuple[Any, Any]


def known_bounds(paimon: Any, path: str) -> dict[str, Ends]:
    """The least and the greatest value of the columns of which Java knows them without a read.

    What Spark's AggregatePushDownUtils asks of the core (2.0.0): a table without keys, a type whose statistics are
    values, splits that need no merge and of which no row is deleted.
    """
    table = table_at(paimon, path)
    rules, splits = paimon.table.source.PushDownUtils, list(table.newReadBuilder().newScan().plan().splits())
    if not table.primaryKeys().isEmpty() or not all(map(rules.tightBoundsAvailable, splits)):
        return {}
    fields_of = jpype.JProxy(
        "java.util.function.Function", {"apply": lambda i: table.schemaManager().schema(i).fields()}
    )
    evolutions = paimon.stats.SimpleStatsEvolutions(fields_of, table.schema().id())
    found = {}
    for place, field in enumerate(table.rowType().getFields()):
        columns = jpype.java.util.HashSet([field.name()])
        if rules.minmaxAvailable(field.type()) and all(rules.minmaxAvailable(split, columns) for split in splits):
            decode = codec(field.type()).decode
            low = [_value(decode, split.minValue(place, field, evolutions)) for split in splits]
            high = [_value(decode, split.maxValue(place, field, evolutions)) for split in splits]
            found[str(field.name())] = (
                min((value for value in low if value is not None), default=None),
                max((value for value in high if value is not None), default=None),
            )
    return found


def _value(decode: Any, value: Any) -> Any:
    return decode(jpype.JPackage("org.apache.paimon.data").GenericRow.of(objects([value])), 0)
