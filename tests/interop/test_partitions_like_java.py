"""Partitions expire as in Java: of two copies of a table, one is Java's and one ours.

``PAIMON_PARTITION_ROUNDS`` sets how many tables are tried (each by its number as seed), ``PAIMON_TIME_CASES`` how many
texts of times.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import java_partitions
import our_engine
import pytest
from genuine import Genuine, table_path
from java_partitions import NO_PATTERN, NO_TIME
from random_tables import VALUES
from readers import assert_same, java_read, said
from support.long_runs import tries
from support.oracles.checker import check_table

from paimon_spark import open_table
from paimon_spark.errors import OptionError
from paimon_spark.format.java.time_pattern import DEFAULT_PATTERN, time_pattern
from paimon_spark.format.types import DataType
from paimon_spark.store.clean.partition_expiry import ExpirePartitionsResult, expire_partitions_at, partition_ages
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.partitions import format_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import epoch_millis_of_wall, parse_local_timestamp
from paimon_spark.store.upkeep.maintenance import maintain

pytestmark = pytest.mark.interop

EPOCH = datetime(1970, 1, 1)
NOW = datetime(2026, 11, 10, 12)
ROUNDS = tries("PAIMON_PARTITION_ROUNDS", ci=8)
CASES = tries("PAIMON_TIME_CASES", ci=500, long=2000)

# --- texts of times -------------------------------------------------------------------------------------------------

WORDS = (
    "yyyy yyyy yy y uuuu uu u yyyyy MM MM M L LL MMM MMMM dd dd d D DD DDD HH HH H kk k hh h KK K a mm mm m ss s S SS "
    "SSS SSSSSSSSS n nnn A AAA N - - / : _ 'T' '' 'a''b' [ ] yyyyMMdd yyyy-MM-dd HH:mm yyyyMMddHHmmss ' 7 ddd {"
)
NUMBERS = [*range(-3, 62), 99, 2023, 10**9, 9_999_999_999]
PLAIN = ["%d-%d-%d", "%04d-%02d-%02d %02d:%02d:%02d", "%d-%d-%d %d:%d:%d", "%d-%d-%d %d:%d:%d.%d", "%d-%d-%d %d:%d"]


def random_case(java: Genuine, random: Random) -> list[tuple[str | None, str]]:
    """A formatter and texts that it prints, some of them with a letter changed; or texts for no formatter."""
    if random.random() < 0.2:
        forms = random.choices(PLAIN, k=10)
        return [(None, changed(random, form % tuple(random.choices(NUMBERS, k=form.count("%"))))) for form in forms]
    formatter = "".join(random.choices([*WORDS.split(" "), " "], k=random.randint(1, 6)))
    moments = []
    for _ in range(10):
        year = random.choice(["2023", "0001", "0099", "9999", "+12345", "-0005", "2024"])
        month, day, hour = random.randint(1, 12), random.randint(1, 28), random.randint(0, 23)
        nanos = random.choice([0, random.randrange(10**9)])
        moments.append(f"{year}-{month:02}-{day:02}T{hour:02}:{random.randint(0, 59):02}:05.{nanos:09}")
    texts = java.run(java_partitions.format_times, formatter, moments) or ["20230405"]
    return [(formatter, changed(random, text)) for text in texts]


def changed(random: Random, text: str) -> str:
    if not text or random.random() < 0.5:
        return text
    at = random.randrange(len(text))
    return text[:at] + random.choice(["", "0", "9", "-", "+", " ", "31", "2", "a"]) + text[at + random.randint(0, 1) :]


def our_time(formatter: str | None, text: str) -> int | str:
    try:
        return (DEFAULT_PATTERN if formatter is None else time_pattern(formatter, "f")).parse(text)
    except OptionError:
        return NO_PATTERN
    except ValueError:
        return NO_TIME


def test_times_are_read_alike(java: Genuine) -> None:
    random, good, refused = Random(20), 0, 0
    for _ in range(CASES // 10):
        cases = random_case(java, random)
        for case, theirs in zip(cases, java.run(java_partitions.times, cases), strict=True):
            if "MMMMM" in (case[0] or "") or "LLLLL" in (case[0] or ""):
                continue  # one letter for a month: refused by us
            assert our_time(*case) == theirs, case
            good += isinstance(theirs, int)
            refused += theirs == NO_PATTERN
    assert good > CASES // 20
    assert refused


# --- expiry ---------------------------------------------------------------------------------------------------------


def days(random: Random) -> datetime:
    return NOW + timedelta(hours=random.randint(-24 * 12, 24))


def hour_table(random: Random) -> tuple[dict[str, Any], list[tuple[Any, ...]], dict[str, str]]:
    """Day and hour in columns of their own, with odd values between."""
    form, formatter = random.choice([("%Y%m%d", "yyyyMMdd HH:mm:ss"), ("%Y-%m-%d", None), ("%d.%m.%y", "dd.MM.yy H")])
    hour = "$hour" if formatter and formatter.endswith("H") else "$hour:00:00"
    moments = [days(random) for _ in range(12)]
    rows = [(m.strftime(form), m.hour) for m in moments]
    rows += [(random.choice(["x", "", " ", "2026", "é/=:", None]), random.choice([1, 25, None])) for _ in range(3)]
    options = {"partition.timestamp-pattern": f"$day {hour}"}
    if formatter is not None:
        options["partition.timestamp-formatter"] = formatter
    return {"day": "STRING", "hour": "INT"}, rows, options


def text_table(random: Random) -> tuple[dict[str, Any], list[tuple[Any, ...]], dict[str, str]]:
    """The first of two columns says it; the other one may be null."""
    form, formatter = random.choice(
        [("%Y-%m-%d", None), ("%Y-%m-%d %H:%M:%S", None), ("%Y%m%d%H", "yyyyMMddHH"), ("%b-%d %Y", "MMM-dd yyyy")]
    )
    rows: list[tuple[Any, ...]] = [(days(random).strftime(form), random.choice([True, False, None])) for _ in range(12)]
    rows += [("nothing", True), (None, False), ("2026-11-1", None), ("2026-13-99", True)]
    return (
        {"p": "STRING", "q": "BOOLEAN"},
        rows,
        {} if formatter is None else {"partition.timestamp-formatter": formatter},
    )


def number_table(random: Random) -> tuple[dict[str, Any], list[tuple[Any, ...]], dict[str, str]]:
    """A day as a number: of a formatter, or that of a DATE, which says no time."""
    kind = random.choice(["INT", "BIGINT", "DATE"])
    moments = [days(random) for _ in range(12)]
    values: list[Any] = [int(m.strftime("%Y%m%d")) if kind != "DATE" else (m - EPOCH).days for m in moments]
    return {"p": kind}, [(v,) for v in [*values, None]], {"partition.timestamp-formatter": "yyyyMMdd"}


def two_copies(java: Genuine, folder: Path, random: Random, kind: Any) -> tuple[str, str, dict[str, str]]:
    columns, parts, options = kind(random)
    theirs, ours = table_path(folder, "theirs"), table_path(folder, "ours")
    has_key = random.random() < 0.5
    names = [*columns, "k", "v"]
    stored = {"bucket": random.choice(["1", "2"]) if has_key else "-1", "write-only": "true"}
    if has_key:
        columns = {name: f"{kind} NOT NULL" for name, kind in columns.items()}
        parts = [part for part in parts if None not in part]
        stored |= random.choice([{}, {"deletion-vectors.enabled": "true"}, {"changelog-producer": "input"}])
    columns = {**columns, "k": "INT NOT NULL", "v": "STRING"}
    java.create(theirs, columns, keys=names[:-1] if has_key else [], partitions=names[:-2], options=stored)
    for _ in range(3):
        java.write(theirs, [(*part, random.randint(0, 3), "v") for part in random.choices(parts, k=7)])
        if random.random() < 0.3:
            java.compact(theirs)
    shutil.copytree(theirs, ours)
    return theirs, ours, options


def same_expiry(
    java: Genuine, copies: tuple[str, str], options: dict[str, str], now: datetime
) -> tuple[list[dict[str, str]], ExpirePartitionsResult]:
    """Both expire; what is left is the same."""
    theirs, ours = copies
    before = open_table(ours).snapshots.latest_id()
    gone = java.run(java_partitions.expire, theirs, options, now.isoformat())
    table = open_table(ours, options)
    done = expire_partitions_at(table, now)
    assert len(done.partitions) == len(gone)
    assert alive(open_table(ours)) == alive(open_table(theirs))
    assert open_table(theirs).snapshots.latest_id() == (before or 0) + len(done.snapshot_ids)
    if done.snapshot_ids:
        assert said(ours) == said(theirs)
    assert assert_same(ours, [java]) == java_read(java, theirs)
    check_table(ours)
    return gone, done


def alive(table: Table) -> set[bytes]:
    return {age.partition for age in partition_ages(table_state(table, table.snapshots.latest()))}


@pytest.mark.parametrize("kind", [hour_table, text_table, number_table])
def test_values_expire_alike(java: Genuine, tmp_path: Path, kind: Any) -> None:
    total = 0
    for seed in range(max(ROUNDS // 4, 1)):
        random = Random(f"{kind.__name__} {seed}")
        *copies, options = two_copies(java, tmp_path / str(seed), random, kind)
        options |= {"partition.expiration-time": random.choice(["1 d", "3 d", "36 h"])}
        if random.random() < 0.5:
            options |= {"partition.expiration-max-num": "4", "partition.expiration-batch-size": random.choice("123")}
        gone, done = same_expiry(java, (copies[0], copies[1]), options, NOW)
        total += len(gone)
        if kind is hour_table:
            assert [f"{g['day']}/{g['hour']}" for g in gone] == [
                name.replace("day=", "").replace("hour=", "") for name in done.partitions
            ]
    assert total or kind is number_table


@pytest.mark.parametrize("kind", [hour_table, text_table])
def test_idle_partitions_expire_alike(java: Genuine, tmp_path: Path, kind: Any) -> None:
    for seed in range(max(ROUNDS // 6, 1)):
        random = Random(f"{kind.__name__} idle {seed}")
        theirs, ours, _ = two_copies(java, tmp_path / str(seed), random, kind)
        state = open_table(ours)
        ages = sorted(age.last_file or 0 for age in partition_ages(table_state(state, state.snapshots.latest())))
        limit = EPOCH + timedelta(milliseconds=ages[len(ages) // 2] + random.choice([0, 1]))
        options = {"partition.expiration-time": "1 d", "partition.expiration-strategy": "update-time"}
        gone, _ = same_expiry(java, (theirs, ours), options, limit + timedelta(days=1))
        assert len(gone) >= sum(age < ages[len(ages) // 2] for age in ages)


@pytest.mark.parametrize(
    ("options", "expires"),
    [
        ({"end-input.check-partition-expire": "true"}, True),
        ({"partition.expiration-check-interval": "0 s"}, True),
        ({"end-input.check-partition-expire": "true", "write-only": "true"}, False),
        ({}, False),
    ],
)
def test_writes_expire_partitions_alike(java: Genuine, tmp_path: Path, options: dict[str, str], expires: bool) -> None:
    """Partitions leave before the snapshots that hold their files do."""
    keeping = {"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2"}
    given = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyyMMdd", **keeping, **options}
    paths = theirs, ours = [table_path(tmp_path, name) for name in ("theirs", "ours")]
    for path in paths:
        java.create(path, {"dt": "STRING", "v": "INT"}, partitions=["dt"], options={"bucket": "-1", **given})
    for rows in ([("20200101", 1), ("99990101", 1)], [("20200102", 2), ("x", 2)]):
        java.write(theirs, rows)
        our_engine.write(ours, [(rows, None)])
        maintain(open_table(ours))
        assert our_engine.snapshot_ids(ours) == our_engine.snapshot_ids(theirs)
        assert {**said(ours), "operation": None} == {
            **said(theirs),
            "operation": None,
        }  # of a write: WRITE, as in Spark
    assert len(alive(open_table(ours))) == (2 if expires else 4)
    assert assert_same(ours, [java]) == java_read(java, theirs)
    check_table(ours)


FORMATTERS = {
    "INT": "yyyyMMdd",
    "BIGINT": "yyyyMMdd",
    "STRING": "yyyyMMdd",
    "VARCHAR(20)": "yyyy-MM-dd[ HH:mm:ss]",
    "DECIMAL(18, 2)": "yyyyMMdd.SS",
    "TIMESTAMP(0)": "yyyy-MM-dd'T'HH:mm[:ss]",
    "TIMESTAMP(3)": "yyyy-MM-dd'T'HH:mm[:ss[.SSS]]",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": "yyyy-MM-dd'T'HH:mm[:ss[.SSS]]",
}


def moments(data_type: str, random: Random) -> list[Any]:
    """Days as values of a type, and other values of it."""
    made: list[Any] = []
    for day in [days(random) + timedelta(milliseconds=random.choice([0, 0, 1000, 1001])) for _ in range(4)]:
        if data_type.startswith("TIMESTAMP"):
            made.append((day - EPOCH) // timedelta(microseconds=1) * 1000)
        elif data_type == "DATE":
            made.append((day - EPOCH).days)
        elif data_type in ("STRING", "VARCHAR(20)"):
            made += [day.strftime("%Y%m%d"), day.strftime("%Y-%m-%d %H:%M:%S")]
        elif data_type == "DECIMAL(18, 2)":
            made.append(Decimal(day.strftime("%Y%m%d.00")))
        elif data_type in ("INT", "BIGINT", "DOUBLE"):
            made.append(int(day.strftime("%Y%m%d")))
    return [*made, *VALUES.get(data_type, [])]


@pytest.mark.parametrize("strategy", ["values-time", "update-time"])
def test_partitions_of_all_types_are_as_old(java: Genuine, tmp_path: Path, strategy: str) -> None:
    """Java cannot drop all of those that it finds too old: it reads their values from their own text again."""
    types = [
        "INT",
        "BIGINT",
        "DATE",
        "STRING",
        "VARCHAR(20)",
        "DECIMAL(18, 2)",
        "DOUBLE",
        "FLOAT",
        "BOOLEAN",
        "SMALLINT",
    ]
    types += ["TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIME(3)", "BYTES"]
    total = 0
    for seed in range(ROUNDS):
        random = Random(f"{strategy} {seed}")
        kinds = random.sample(types, random.choice([1, 1, 2]))
        path = table_path(tmp_path / str(seed), "t")
        names = [f"p{i}" for i in range(len(kinds))]
        options = {"bucket": "-1", "partition.legacy-name": "false", "write-only": "true"}
        java.create(path, {**dict(zip(names, kinds, strict=True)), "v": "INT"}, (), names, options)
        pools = [[*moments(kind, random), None] for kind in kinds]
        java.write(path, [(*(random.choice(pool) for pool in pools), 1) for _ in range(12)])
        given = {"partition.expiration-strategy": strategy, "partition.expiration-time": "1 d"}
        if random.random() < 0.8 or kinds[0] not in FORMATTERS:
            formatter = FORMATTERS.get(kinds[0], random.choice([*FORMATTERS.values()]))
            given["partition.timestamp-formatter"] = formatter
        if random.random() < 0.3:
            given["partition.timestamp-pattern"] = random.choice(["$p0", "$p1"])
        now = NOW if strategy == "values-time" else datetime.now() + timedelta(days=1, seconds=random.choice([-9, 9]))
        theirs = java.run(java_partitions.too_old, path, given, (now - timedelta(days=1)).isoformat())
        table = open_table(path, given)
        done = expire_partitions_at(table, now)
        assert sorted(done.partitions) == sorted(format_partition(table, row) for row in theirs), (kinds, given)
        assert not alive(open_table(path)) & {canonical_row(row, types_of(table)) for row in theirs}
        check_table(path)
        total += len(theirs)
    assert total > ROUNDS


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata"])
def test_walls_are_the_same_instants(java: Genuine, local_zone: Callable[[str], None], zone: str) -> None:
    """Hours that come twice, and hours left out."""
    walls = [1_761_000_000_000 + 1_800_000 * n for n in range(17_600)]  # a year, every half hour
    expected = java.run(java_partitions.epoch_millis, walls, zone)
    local_zone(zone)
    assert [epoch_millis_of_wall(wall) for wall in walls] == expected
    texts = [str(datetime(1970, 1, 1) + timedelta(milliseconds=wall)) for wall in walls]
    assert [parse_local_timestamp(text) for text in texts] == expected


def types_of(table: Table) -> list[DataType]:
    return [field.type for field in table.schema.partition_fields]
