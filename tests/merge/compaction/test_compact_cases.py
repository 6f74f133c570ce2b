"""The text cases of the merge of a compaction (compact_cases/*.txt).

As ``case_files.py`` has them, but for the lines of rows: ``level 2: +I @1 | ...`` is an input of that level and
``above 4:`` a row above the output. ``=>`` is a row that comes out, ``log`` one of the changelog, ``deleted: 4 0`` the
level and the position of a row that a deletion vector gets. ``deletes: dropped``: rows that retract do not come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables.case_files import CaseRow, case_array, parse_columns, parse_row

from paimon_spark.errors import PaimonError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import FILE_NUMBER, LEVEL, POSITION, SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from paimon_spark.merge.compaction.merge import CompactBatch, compact_merge, compact_rules

CASES = Path(__file__).parent / "compact_cases"
MAX_LEVEL = 5


@dataclass
class CompactCase:
    title: str
    schema: TableSchema
    inputs: list[tuple[int, CaseRow]] = field(default_factory=list)
    above: list[tuple[int, CaseRow]] = field(default_factory=list)
    rows: list[CaseRow] = field(default_factory=list)
    changelog: list[CaseRow] = field(default_factory=list)
    deleted: list[tuple[int, int]] = field(default_factory=list)
    drops_deletes: bool = False
    error: str | None = None


def load_cases(path: Path) -> Iterator[CompactCase]:
    for block in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, *lines = [line.strip() for line in block.splitlines()]
        lines = [line for line in lines if line and not line.startswith(("--", "#"))]
        options = dict(line.split(" = ", 1) for line in lines if " = " in line and "|" not in line)
        (columns,) = (line.removeprefix("columns:") for line in lines if line.startswith("columns:"))
        case = CompactCase(title, parse_columns(columns, options))
        for line in lines:
            _add(case, line)
        yield case


def _add(case: CompactCase, line: str) -> None:
    if match := re.match(r"(level|above) (\d): (.*)", line):
        rows = case.inputs if match[1] == "level" else case.above
        rows.append((int(match[2]), parse_row(match[3], -1)))
    elif line.startswith("=> error:"):
        case.error = line.removeprefix("=> error:").strip()
    elif line.startswith("=>"):
        case.rows.append(parse_row(line.removeprefix("=>").strip(), -1))
    elif line.startswith("log "):
        case.changelog.append(parse_row(line.removeprefix("log "), -1))
    elif line.startswith("deleted: "):
        level, position = line.removeprefix("deleted: ").split()
        case.deleted.append((int(level), int(position)))
    elif line == "deletes: dropped":
        case.drops_deletes = True


def key_of(case: CompactCase, row: CaseRow) -> tuple[Any, ...]:
    return tuple(row.values[case.schema.names.index(name)] for name in case.schema.primary_keys)


def batch_of(case: CompactCase, rows: Sequence[CaseRow], level: int = 0) -> pa.RecordBatch:
    columns = {f.name: case_array([row.values[i] for row in rows], f) for i, f in enumerate(case.schema.fields)}
    columns[SEQUENCE_NUMBER] = pa.array([row.sequence for row in rows], pa.int64())
    columns[VALUE_KIND] = pa.array([row.kind for row in rows], pa.int8())
    columns[LEVEL] = pa.array([level] * len(rows), pa.int8())
    columns[FILE_NUMBER] = pa.array([level] * len(rows), pa.int32())
    columns[POSITION] = pa.array(range(len(rows)), pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def runs_of(case: CompactCase) -> list[pa.RecordBatch]:
    """The inputs: each level above 0 is a run; on level 0 rows of one key are in different ones."""
    runs: dict[tuple[int, int], list[CaseRow]] = {}
    seen: dict[tuple[int, Any], int] = {}
    for level, row in case.inputs:
        number = seen[level, key_of(case, row)] = seen.get((level, key_of(case, row)), -1) + 1
        runs.setdefault((-level, number), []).append(row)
    by_key = {place: sorted(rows, key=lambda row: key_of(case, row)) for place, rows in runs.items()}
    return [batch_of(case, by_key[place], -place[0]) for place in sorted(by_key)]


class Level:
    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        return next(self._batches, None)


def levels_of(case: CompactCase, rows: int) -> list[Level]:
    by_level: dict[int, list[CaseRow]] = {}
    for level, row in case.above:
        by_level.setdefault(level, []).append(row)
    return [Level(cut(batch_of(case, by_level[level], level), rows)) for level in sorted(by_level)]


def cut(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def run_case(case: CompactCase, rows: int) -> list[CompactBatch]:
    rules = compact_rules(case.schema, TableSettings(case.schema.options), MAX_LEVEL, case.drops_deletes)
    runs = [cut(run, rows) for run in runs_of(case)]
    return list(compact_merge(runs, levels_of(case, rows), rules, rows))


def as_text(case: CompactCase, batches: Sequence[pa.RecordBatch | None]) -> list[str]:
    """Rows in the columns of the table, their number and kind; the entries of a map have no order."""
    names = [*case.schema.names, SEQUENCE_NUMBER, VALUE_KIND]
    maps = {f.name for batch in batches if batch for f in batch.schema if pa.types.is_map(f.type)}
    rows = [row for batch in batches if batch is not None for row in batch.select(names).to_pylist()]
    return [str({k: sorted(v) if k in maps and v else v for k, v in row.items()}) for row in rows]


ALL = [
    pytest.param(case, id=f"{path.name}: {case.title}")
    for path in sorted(CASES.glob("*.txt"))
    for case in load_cases(path)
]


@pytest.mark.parametrize("rows", [1, 1000])
@pytest.mark.parametrize("case", ALL)
def test_case(case: CompactCase, rows: int) -> None:
    if case.error is not None:
        with pytest.raises(PaimonError, match=case.error):
            run_case(case, rows)
        return
    batches = run_case(case, rows)
    assert as_text(case, [batch.rows for batch in batches]) == as_text(case, [batch_of(case, case.rows)])
    assert as_text(case, [batch.changelog for batch in batches]) == as_text(case, [batch_of(case, case.changelog)])
    superseded = [batch.superseded for batch in batches if batch.superseded is not None]
    places = [pair for s in superseded for pair in zip(s.files.tolist(), s.positions.tolist(), strict=True)]
    assert sorted(places) == sorted(case.deleted)
