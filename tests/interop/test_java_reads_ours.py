"""Tables we write, read equal by Java 2.0.0, Java 1.4.2 and, where it can, pypaimon-rust."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from random_tables import KEY_TYPES, VALUES
from readers import assert_same
from rust_reader import rust_read
from support.oracles.comparing import Row

pytestmark = pytest.mark.interop

FORMATS = ["parquet", "orc", "avro"]
NESTED = {
    "f_array": ({"type": "ARRAY", "element": "STRING NOT NULL"}, [(), ("x", "")]),
    "f_map": ({"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}, [(), (("k1", 1), ("k2", None))]),
    "f_int_map": ({"type": "MAP", "key": "INT NOT NULL", "value": "STRING"}, [((10, "ten"), (20, None)), ()]),
    "f_row": (
        {
            "type": "ROW",
            "fields": [
                {"id": 100, "name": "a", "type": "INT"},
                {"id": 101, "name": "b", "type": {"type": "ARRAY", "element": "BIGINT"}},
            ],
        },
        [(None, None), (5, (7, None))],
    ),
    "f_rows": (
        {"type": "ARRAY", "element": {"type": "ROW", "fields": [{"id": 102, "name": "x", "type": "TIMESTAMP(3)"}]}},
        [((1_000_000,), None, (None,)), ()],
    ),
}
MULTISET = {"f_multiset": ({"type": "MULTISET", "element": "STRING"}, [(("m", 2),), ()])}


def columns_and_rows(pools: dict[str, tuple[Any, list[Any]]]) -> tuple[dict[str, Any], list[Row]]:
    """An id column beside the others; rows that use every value, and one of nulls."""
    count = max(len(values) for _, values in pools.values())
    rows: list[Row] = [(i, *(values[i % len(values)] for _, values in pools.values())) for i in range(count)]
    rows.append((count, *(None for _ in pools)))
    return {"id": "INT NOT NULL", **{name: t for name, (t, _) in pools.items()}}, rows


def all_pools(file_format: str, multiset: bool) -> dict[str, tuple[Any, list[Any]]]:
    pools = {f"f{i}": (t, values) for i, (t, values) in enumerate(VALUES.items())}
    if file_format != "avro":
        pools["f_ltz9"] = ("TIMESTAMP(9) WITH LOCAL TIME ZONE", VALUES["TIMESTAMP(9)"])
    else:
        pools = {name: pool for name, pool in pools.items() if pool[0] != "TIMESTAMP(9)"}
    return pools | NESTED | (MULTISET if multiset else {})


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "key"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_every_type(file_format: str, keyed: bool, java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    columns, rows = columns_and_rows(all_pools(file_format, multiset=True))
    options = {"file.format": file_format, "metadata.stats-mode": "full"} | ({"bucket": "2"} if keyed else {})
    our_engine.create(path, columns, ["id"] if keyed else [], [], options)
    our_engine.write(path, [(rows, None)])
    our_engine.write(path, [(rows[:3] if keyed else [], None)])
    assert assert_same(path, [java, older_java]).total() == len(rows)


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "key"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_rust_reads_every_type_it_has(file_format: str, keyed: bool, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    columns, rows = columns_and_rows(all_pools(file_format, multiset=False))
    options = {"file.format": file_format} | ({"bucket": "2"} if keyed else {})
    if file_format == "orc":
        options["file.compression"] = "none"  # the only one it takes
    our_engine.create(path, columns, ["id"] if keyed else [], [], options)
    our_engine.write(path, [(rows, None)])
    assert rust_read(path) == our_engine.read(path)


def test_partitions_of_odd_values(java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    text = ["x", None, "", " ", "a/b=c:d%e f'g\"h*i?j{k}[l]^m\\n#\x01zé", "x", "Ünï"]
    date = [0, None, -1, 19_700, 19_701, None, 2_932_896]
    flag = [True, False, None, True, None, True, False]
    number = [Decimal("1.50"), None, Decimal("-0.01"), Decimal("0.00"), None, Decimal("1.50"), Decimal("99.99")]
    time = [None, 1_700_000_000_123_000_000, 0, 60_000_000_000, 1_000_000, None, 86_399_000_000_000]
    rows = [(i, *values) for i, values in enumerate(zip(text, date, flag, number, time, strict=True))]
    columns = {"id": "INT", "s": "STRING", "d": "DATE", "b": "BOOLEAN", "n": "DECIMAL(4, 2)", "t": "TIMESTAMP(3)"}
    our_engine.create(path, columns, [], ["s", "d", "b", "n", "t"])
    our_engine.write(path, [(rows, None)])
    assert assert_same(path, [java, older_java]).total() == len(rows)
    assert rust_read(path) == our_engine.read(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data-file.thin-mode": "true"},
        {"sequence.field": "s"},
        {"sequence.field": "s,d", "sequence.field.sort-order": "descending"},
        {"ignore-delete": "true"},
        {"file.format": "orc", "file.compression": "none"},  # the only one the Rust reader takes
        {"file.format": "avro"},
        {"file.format.per.level": "0:avro"},
        {"rowkind.field": "kind"},
    ],
    ids=str,
)
def test_upserts_and_deletes(options: dict[str, str], java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    columns = {"p": "INT NOT NULL", "k": "STRING NOT NULL", "s": "INT", "d": "DATE", "v": "STRING", "kind": "STRING"}
    our_engine.create(path, columns, ["p", "k"], ["p"], {"bucket": "2", **options})
    field_decides = "rowkind.field" in options
    for turn in range(4):
        kinds = ["+I", "+U", "-D", "+I", "-U"]
        rows = [
            (i % 2, f"k{i % 7}", None if i % 3 else 10 - turn, i % 5, f"{turn}-{i}", kinds[(i + turn) % 5])
            for i in range(turn, turn + 12)
        ]
        parts = [(part, None if field_decides else [row[-1] for row in part]) for part in (rows[:8], rows[8:])]
        our_engine.write(path, parts)
    rows_left = assert_same(path, [java, older_java])
    assert 0 < rows_left.total() <= 14
    assert rust_read(path) == rows_left
    for snapshot in (1, 3):
        assert_same(path, [java, older_java], {"scan.snapshot-id": str(snapshot)})


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "key"])
def test_overwrites(keyed: bool, java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    columns = {"p": "INT NOT NULL", "q": "STRING NOT NULL", "k": "INT NOT NULL", "v": "STRING"}
    options = {"bucket": "2"} if keyed else {}
    our_engine.create(path, columns, ["p", "q", "k"] if keyed else [], ["p", "q"], options)
    our_engine.write(path, [([(p, q, k, "old") for p in range(3) for q in "ab" for k in range(4)], None)])
    assert assert_same(path, [java, older_java]).total() == 24
    our_engine.overwrite(path, [(1, "a", 9, "static")], {"p": 1})
    assert assert_same(path, [java, older_java]).total() == 17
    our_engine.overwrite(path, [(0, "b", 9, "dynamic"), (7, "c", 9, "dynamic")], "dynamic")
    assert assert_same(path, [java, older_java]).total() == 15
    our_engine.overwrite(path, [], {"p": 2, "q": "a"})
    assert assert_same(path, [java, older_java]).total() == 11
    our_engine.overwrite(path, [(5, "z", 1, "all")], None)
    assert assert_same(path, [java, older_java]).total() == 1
    assert rust_read(path) == our_engine.read(path)


def test_many_files_and_row_groups(java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    options = {"target-file-size": "100 kb", "file.block-size": "64 kb"}
    our_engine.create(path, {"id": "BIGINT", "v": "STRING"}, options=options)
    rows: list[Row] = [(i, f"{i * 7919:032d}") for i in range(150_000)]
    our_engine.write(path, [(rows, None)])
    assert len(java.files(path)) > 1
    assert assert_same(path, [java, older_java]).total() == len(rows)


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "key"])
def test_java_evolves_the_schema_between_our_commits(
    keyed: bool, java: Genuine, older_java: Genuine, tmp_path: Path
) -> None:
    path = table_path(tmp_path)
    columns = {"k": "INT NOT NULL", "a": "INT", "b": "STRING", "c": NESTED["f_row"][0]}
    our_engine.create(path, columns, ["k"] if keyed else [], [], {"bucket": "1"} if keyed else {})
    commits: list[tuple[list[tuple[Any, ...]], Sequence[Row]]] = [
        ([], [(1, 10, "x", (1, (2,))), (2, None, None, None)]),
        ([("addColumn", "d", "DOUBLE")], [(1, 11, "y", (None, ()), 0.5), (3, 3, "z", None, float("nan"))]),
        ([("renameColumn", "a", "a2"), ("updateColumnType", "a2", "BIGINT")], [(4, 2**40, "w", (4, None), None)]),
        ([("dropColumn", "b"), ("addColumn", "b", "DATE")], [(2, 0, (9, (9,)), -0.0, 19_700)]),
        ([("updateColumnType", "a2", "STRING")], [(5, "five", None, 1e300, None)]),
    ]
    for changes, rows in commits:
        for change in changes:
            java.alter(path, change)
        our_engine.write(path, [(rows, None)])
        assert_same(path, [java, older_java])
    assert our_engine.read(path).total() == (5 if keyed else 7)
    assert rust_read(path) == our_engine.read(path)
    for snapshot in our_engine.snapshot_ids(path):
        assert_same(path, [java, older_java], {"scan.snapshot-id": str(snapshot)})


def bucket_cases() -> list[tuple[str, str]]:
    """Every key type and bucket function that go together."""
    cases = [("default", t) for t in KEY_TYPES] + [("mod", "INT"), ("mod", "BIGINT")]
    return cases + [("hive", t) for t in KEY_TYPES if not t.startswith("TIMESTAMP")]


@pytest.mark.parametrize(("function", "key_type"), bucket_cases())
def test_java_finds_the_bucket_we_chose(function: str, key_type: str, java: Genuine, tmp_path: Path) -> None:
    """Java writes the same keys again: a row that lies in another bucket would be there twice."""
    path = table_path(tmp_path)
    options = {"bucket": "7", "bucket-function.type": function}
    java.create(path, {"k": f"{key_type} NOT NULL", "v": "STRING"}, ["k"], [], options)
    our_engine.write(path, [([(value, "ours") for value in VALUES[key_type]], None)])
    java.write(path, [(value, "Java's") for value in VALUES[key_type]])
    rows = assert_same(path, [java])
    assert {row[1] for row in rows} == {"Java's"}
    assert rows.total() == len(VALUES[key_type])
