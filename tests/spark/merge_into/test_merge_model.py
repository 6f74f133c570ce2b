"""Random MERGE statements against a model that goes row by row.

PAIMON_MERGES says how many statements are drawn for each kind of table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.long_runs import draws, tries

from paimon_spark import PaimonTable
from paimon_spark.errors import DataError
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.clauses import Action, When
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.rows.job import Job
from paimon_spark.store.rows.change_strategies import Statement
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
TRIES = tries("PAIMON_MERGES", ci=3, long=60)
Row = tuple[int, int | None, str]
Both = tuple[Row | None, Row | None]
SETTINGS = ("spark.paimon.read.local", "spark.paimon.write.local")
NO_ROW: Row = (0, None, "")
EVOLVED = {
    "row-tracking.enabled": "true",
    "data-evolution.enabled": "true",
    "deletion-vectors.enabled": "true",
}
TABLES = {
    "keyed": {"primary-key": "id", "bucket": "2"},
    "append": {},
    "buckets": {"bucket": "2", "bucket-key": "id"},
    "partitions": {"partition": "p"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "columns": EVOLVED,
}


@dataclass(frozen=True)
class Piece:
    """A condition or a value, in SQL and in Python; NULL is None."""

    sql: str
    of: Callable[[Row, Row], object]


def _more(left: int | None, right: int | None) -> bool | None:
    return None if left is None or right is None else left > right


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


ALWAYS = Piece("true", lambda t, s: True)
OF_TARGET = [
    ALWAYS,
    Piece("t.id % 2 = 0", lambda t, s: t[0] % 2 == 0),
    Piece("t.v > 3", lambda t, s: _more(t[1], 3)),
    Piece("t.v is null", lambda t, s: t[1] is None),
]
OF_SOURCE = [
    ALWAYS,
    Piece("s.id % 3 = 0", lambda t, s: s[0] % 3 == 0),
    Piece("s.v > 5", lambda t, s: _more(s[1], 5)),
    Piece("v is not null and p <> 'b'", lambda t, s: s[1] is not None and s[2] != "b"),
]
OF_BOTH = [*OF_TARGET, *OF_SOURCE[:3], Piece("s.v > t.v", lambda t, s: _more(s[1], t[1]))]
TARGET_VALUES = [Piece("t.v + 1", lambda t, s: _sum(t[1], 1)), Piece("NULL", lambda t, s: None)]
BOTH_VALUES = [*TARGET_VALUES, Piece("s.v", lambda t, s: s[1]), Piece("s.v + t.v", lambda t, s: _sum(s[1], t[1]))]
SOURCE_VALUES = [Piece("v", lambda t, s: s[1]), Piece("id * 2", lambda t, s: s[0] * 2)]


@dataclass(frozen=True)
class Step:
    """A clause, and what it makes of a row: None: nothing is left."""

    clause: Clause
    condition: Piece
    makes: Callable[[Row, Row], Row | None]


def drawn_steps(chance: random.Random) -> list[Step]:
    found: list[Step] = []
    for when, conditions in (
        (When.MATCHED, OF_BOTH),
        (When.NOT_MATCHED, OF_SOURCE),
        (When.NOT_MATCHED_BY_SOURCE, OF_TARGET),
    ):
        count = chance.choice((0, 1, 1, 2))
        for number in range(count):
            limited = [condition for condition in conditions if condition is not ALWAYS]
            condition = chance.choice(conditions if number == count - 1 else limited)
            found.append(step(chance, when, condition))
    return found or drawn_steps(chance)


def step(chance: random.Random, when: When, condition: Piece) -> Step:
    sql = None if condition is ALWAYS else condition.sql
    if when is When.NOT_MATCHED:
        if chance.random() < 0.4:
            return Step(Clause(when, Action.INSERT, sql), condition, lambda t, s: s)
        value = chance.choice(SOURCE_VALUES)
        given = {"id": "s.id", "v": value.sql, "p": "p"}
        return Step(Clause(when, Action.INSERT, sql, given), condition, lambda t, s: (s[0], value.of(t, s), s[2]))
    if chance.random() < 0.35:
        return Step(Clause(when, Action.DELETE, sql), condition, lambda t, s: None)
    if when is When.MATCHED and chance.random() < 0.3:
        return Step(Clause(when, Action.UPDATE, sql), condition, lambda t, s: s)
    value = chance.choice(BOTH_VALUES if when is When.MATCHED else TARGET_VALUES)
    letter = chance.choice("ab")
    given = {"v": value.sql, "p": f"'{letter}'"}
    return Step(Clause(when, Action.UPDATE, sql, given), condition, lambda t, s: (t[0], value.of(t, s), letter))


def merged(target: Sequence[Row], source: Sequence[Row], steps: Sequence[Step]) -> list[Row] | None:
    """What is left; None: several rows of the source match one of the target."""
    found: list[Row] = []
    for t in target:
        partners = [s for s in source if s[0] == t[0]]
        matched = [item.clause for item in steps if item.clause.when is When.MATCHED]
        deletes_all = [(clause.action, clause.condition) for clause in matched] == [(Action.DELETE, None)]
        if len(partners) > 1 and matched and not deletes_all:
            return None
        when, s = (When.MATCHED, partners[0]) if partners else (When.NOT_MATCHED_BY_SOURCE, NO_ROW)
        applied = first(steps, when, t, s)
        left = t if applied is None else applied.makes(t, s)
        found += [] if left is None else [left]
    known = {t[0] for t in target}
    for s in source:
        applied = None if s[0] in known else first(steps, When.NOT_MATCHED, NO_ROW, s)
        new = None if applied is None else applied.makes(NO_ROW, s)
        found += [] if new is None else [new]
    return sorted(found, key=repr)


def inserts_a_key_twice(target: Sequence[Row], source: Sequence[Row], steps: Sequence[Step]) -> bool:
    known = {t[0] for t in target}
    new = [s[0] for s in source if s[0] not in known and first(steps, When.NOT_MATCHED, NO_ROW, s)]
    return len(new) > len(set(new))


def first(steps: Sequence[Step], when: When, t: Row, s: Row) -> Step | None:
    return next((item for item in steps if item.clause.when is when and item.condition.of(t, s)), None)


def drawn_rows(chance: random.Random, ids: Sequence[int]) -> list[Row]:
    return [(i, chance.choice((None, 1, 4, 7)), chance.choice("ab")) for i in ids]


@pytest.fixture(params=["driver", "source", "tasks"])
def is_held(request: pytest.FixtureRequest, quick_spark: SparkSession) -> Iterator[bool]:
    """Whether this process holds the source; as the driver it reads and writes the table too, else tasks do."""
    for setting in SETTINGS:
        quick_spark.conf.set(setting, str(request.param == "driver").lower())
    yield request.param != "tasks"
    for setting in SETTINGS:
        quick_spark.conf.set(setting, "false")


@pytest.mark.parametrize("kind", TABLES)
def test_a_merge_does_what_its_clauses_say(quick_spark: SparkSession, tmp_path: Path, kind: str, is_held: bool) -> None:
    chance = random.Random(draws().random())
    path, schema = str(tmp_path / "t"), "id long, v long, p string"
    rows = drawn_rows(chance, range(10))
    for part in (rows[:6], rows[6:]):
        frame = quick_spark.createDataFrame(part, schema).coalesce(1)
        frame.write.format("paimon").mode("append").options(**TABLES[kind]).save(path)
    now = sorted(rows, key=repr)
    for number in range(TRIES):
        ids = chance.sample(range(14), chance.randint(1, 6))
        source = drawn_rows(chance, [*ids, *(ids[:1] if chance.random() < 0.15 else ())])
        steps = drawn_steps(chance)
        clauses = [item.clause for item in steps]
        told = f"{kind}, statement {number}: {now} with {source}: {clauses}"
        expected = merged(now, source, steps)
        job = Job(quick_spark, RowChange(lambda: open_table(path), Statement.MERGE))
        frame = quick_spark.createDataFrame(source, schema)
        frame = quick_spark.createDataFrame(frame.toArrow()) if is_held else frame
        assert frame.isLocal() == is_held
        merge = Merge(job, "t", frame, "s", "t.id = s.id", clauses)
        clash = kind == "keyed" and inserts_a_key_twice(now, source, steps)
        if expected is None or (clash and any(clause.when is When.MATCHED for clause in clauses)):
            with pytest.raises(DataError, match="several rows of the source"):
                run_merge(merge)
            continue
        if clash:
            continue  # two rows with one new key: the engine keeps either
        result, before = run_merge(merge), len(now)
        table = PaimonTable.forPath(quick_spark, path)
        now = sorted((tuple(row) for row in table.toDF().collect()), key=repr)
        assert now == expected, told
        assert result.rows_inserted - result.rows_deleted == len(now) - before, told
        assert not table.check().problems, told
