"""Lookups by genuine Java 2.0.0, in a process with a JVM of its own. Prints one line of JSON, with one result a lookup.

``python java_session.py PATH LOOKUPS``: LOOKUPS is JSON, a list of lookups. A lookup is a list of [method of
PredicateBuilder, column, value], of which all must be true; or a [column, count], for the least values of the column.
Needs Java and the jar that the interop tests use.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUNDS = 5
Condition = Sequence[tuple[str, str, Any]]
First = tuple[str, int]


@dataclass(frozen=True)
class JavaLookup:
    """What Java did.

    Attributes:
        seconds: of planning, reading and filtering, in the best round.
        files: that statistics and file indexes leave.
        rows: that the reader gives.
    """

    seconds: float
    files: int
    rows: int


def java_lookups(path: str, lookups: Sequence[Condition | First]) -> list[JavaLookup] | None:
    """Lookups in a table by Java, without an engine; None: Java or its jar is not there. Java does not sort rows."""
    command = [sys.executable, __file__, path, json.dumps(lookups)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None
    return [JavaLookup(*each) for each in json.loads(done.stdout.splitlines()[-1])]


def start_java() -> Any:
    """Starts Java in this process, and gives its package; the modules of the interop tests can be imported then."""
    tests = Path(__file__).parents[1] / "tests"
    sys.path[:0] = [str(tests), str(tests / "interop")]  # the interop tests are no package
    import jpype
    from genuine import SUPPORT_JARS
    from genuine_jars import paimon_jar, spark_jars

    jpype.startJVM("-Xmx2g", "-Duser.timezone=UTC", classpath=[str(paimon_jar("2.0.0")), *spark_jars(*SUPPORT_JARS)])
    return jpype.JPackage("org.apache.paimon")


def main(path: str, lookups: Sequence[Any]) -> None:
    paimon = start_java()
    from java_table import table_at

    table = table_at(paimon, path)
    print(json.dumps([_looked_up(paimon, table, lookup) for lookup in lookups]), flush=True)


def _looked_up(paimon: Any, table: Any, lookup: Any) -> tuple[float, int, int]:
    if isinstance(lookup[0], str):
        return _first(paimon, table, *lookup)
    predicate = _predicate(paimon, table.rowType(), lookup)
    seconds, rows, plan = _timed(paimon, lambda: table.newReadBuilder().withFilter(predicate))
    return seconds, _files(paimon, table, plan, predicate), rows


def _first(paimon: Any, table: Any, column: str, count: int) -> tuple[float, int, int]:
    """The rows among which are those with the least values of a column."""
    place, order = table.rowType().getFieldIndex(column), paimon.predicate.SortValue
    field = paimon.predicate.FieldRef(place, column, table.rowType().getTypeAt(place))
    top = paimon.predicate.TopN(field, order.SortDirection.ASCENDING, order.NullOrdering.NULLS_LAST, count)
    seconds, rows, plan = _timed(paimon, lambda: table.newReadBuilder().withTopN(top))
    return seconds, sum(split.dataFiles().size() for split in plan.splits()), rows


def _predicate(paimon: Any, row_type: Any, condition: Condition) -> Any:
    builder = paimon.predicate.PredicateBuilder(row_type)
    parts = [_leaf(paimon, builder, row_type, *part) for part in condition]
    predicate = parts[0]
    for part in parts[1:]:
        predicate = paimon.predicate.PredicateBuilder.and_(predicate, part)
    return predicate


def _timed(paimon: Any, new_read: Callable[[], Any]) -> tuple[float, int, Any]:
    """The time of the best round of planning, reading and filtering; how many rows there are; the plan."""
    size = paimon.shade.guava30.com.google.common.collect.Iterators.size  # a loop in Java
    best, rows = float("inf"), 0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        read = new_read()
        plan = read.newScan().plan()
        with read.newRead().executeFilter().createReader(plan).toCloseableIterator() as cursor:
            rows = int(size(cursor))
        best = min(best, time.perf_counter() - began)
    return best, rows, plan


def _leaf(paimon: Any, builder: Any, row_type: Any, method: str, column: str, value: Any) -> Any:
    from genuine_values import codec

    place = row_type.getFieldIndex(column)
    return getattr(builder, method)(place, codec(row_type.getTypeAt(place)).encode(value))


def _files(paimon: Any, table: Any, plan: Any, predicate: Any) -> int:
    """How many files of a plan their indexes leave; Java's reader asks them in the same way."""
    left = 0
    index_of, io, row_type = paimon.fileindex.FileIndexPredicate, table.fileIO(), table.rowType()
    for split in plan.splits():
        for file in split.dataFiles():
            names = [name for name in file.extraFiles() if str(name).endswith(".index")]
            if names:
                with index_of(paimon.fs.Path(f"{split.bucketPath()}/{names[0]}"), io, row_type) as index:
                    left += bool(index.evaluate(predicate).remain())
            else:
                left += 1
    return left


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
