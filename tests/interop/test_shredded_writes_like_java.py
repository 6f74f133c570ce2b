"""Files with shredded values of VARIANT: ours have the columns and the bytes of Java's, and both read both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from pathlib import Path
from random import Random
from typing import Any

import our_engine
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from genuine import Genuine, table_path
from pyspark.sql.variant_utils import VariantUtils
from support.draws.json_values import NAMES, random_json
from support.long_runs import tries
from support.oracles.checker import check_table
from support.oracles.comparing import Row

from paimon_spark import open_table
from paimon_spark.errors import OptionError

pytestmark = pytest.mark.interop

COLUMNS: dict[str, Any] = {
    "k": "INT NOT NULL",
    "v": "VARIANT",
    "r": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}, {"name": "v", "type": "VARIANT"}]},
}
INFER = {"variant.inferShreddingSchema": "true"}
SCALARS = ["BIGINT", "INT", "SMALLINT", "TINYINT", "STRING", "DOUBLE", "FLOAT", "BOOLEAN", "DECIMAL(9, 2)",
           "DECIMAL(18, 3)", "DECIMAL(38, 6)", "VARIANT"]  # fmt: skip


def random_shape(random: Random, depth: int = 2) -> Any:
    """A type of shredding as the option has it."""
    kind = random.random()
    if depth and kind < 0.5:
        names = random.sample([name for name in NAMES if name], random.randrange(1, 5))
        fields = [{"name": name, "type": random_shape(random, depth - 1)} for name in names]
        return {"type": "ROW", "fields": fields}
    if depth and kind < 0.65:
        return {"type": "ARRAY", "element": random_shape(random, depth - 1)}
    return random.choice(SCALARS)


def drawn(random: Random, others: float = 0.3) -> tuple[bytes, bytes] | None:
    """Values with common names and types, and a share of any kind: of nothing in common nothing is inferred."""
    if random.random() < 0.1:
        return None
    if random.random() < others:
        return VariantUtils.parse_json(json.dumps(without_unnamed(random_json(random))))
    usual = {"a": random.choice([1, 7.25, 2**40]), "age": random.choice([3, None, "old"]), "city": "Oslo",
             "b": [1, 2.5], "é": {"a": 1e300, "b": "x" * random.choice([1, 80])}, "a.b": -5}  # fmt: skip
    return VariantUtils.parse_json(json.dumps({name: usual[name] for name in random.sample(list(usual), 4)}))


def without_unnamed(value: Any) -> Any:
    """Without fields that have no name: Java fails to infer a schema of them."""
    if isinstance(value, dict):
        return {name: without_unnamed(item) for name, item in value.items() if name}
    return [without_unnamed(item) for item in value] if isinstance(value, list) else value


def rows_of(random: Random, count: int = 40, others: float = 0.3) -> list[Row]:
    return [(k, drawn(random, others), random.choice([None, (k, drawn(random, others))])) for k in range(count)]


def meant(rows: Iterable[Row]) -> Counter[str]:
    """What the values mean: names may have other numbers, and 1 may be stored as 1.0 of a decimal."""
    python = [
        (k, v and VariantUtils.to_python(*v), r and (r[0], r[1] and VariantUtils.to_python(*r[1]))) for k, v, r in rows
    ]
    return Counter(map(repr, plain(python)))


def plain(value: Any) -> Any:
    """Decimals without zeros at their ends, and fields in one order."""
    match value:
        case dict():
            return {name: plain(value[name]) for name in sorted(value)}
        case list() | tuple():
            return [plain(item) for item in value]
        case Decimal():
            return int(value) if value == value.to_integral_value() else value.normalize(Context(prec=60))
    return value


def assert_same(path: str, javas: Sequence[Genuine]) -> Counter[str]:
    """The rows as we and each Java read them."""
    ours = meant(our_engine.read(path).elements())
    for java in javas:
        assert meant(row for _, row in java.read(path)) == ours
    return ours


def data_files(path: str) -> Iterator[pq.ParquetFile]:
    yield from (pq.ParquetFile(file) for file in sorted(Path(path).rglob("data-*.parquet"), key=lambda f: f.name))


def given_shape(random: Random) -> dict[str, str]:
    shape = {"type": "ROW", "fields": [{"name": "v", "type": random_shape(random)}]}
    return {"variant.shreddingSchema": json.dumps(shape)}


def inferred(random: Random) -> dict[str, str]:
    return {
        **INFER,
        "variant.shredding.maxSchemaWidth": random.choice(["300", "5", "9"]),
        "variant.shredding.maxSchemaDepth": random.choice(["50", "1", "2"]),
        "variant.shredding.minFieldCardinalityRatio": random.choice(["0.1", "0.6", "0"]),
        "variant.shredding.maxInferBufferRow": random.choice(["4096", "5"]),
    }


@pytest.mark.parametrize("seed", range(tries("PAIMON_SHREDDED_FILES", 4, 100)))
def test_files_are_those_of_java(seed: int, java: Genuine, tmp_path: Path) -> None:
    random = Random(seed)
    rows = rows_of(random, others=random.choice([0, 0.3]))
    options = {"bucket": "-1", **(inferred(random) if seed % 2 else given_shape(random))}
    ours, theirs = table_path(tmp_path, "ours"), table_path(tmp_path, "theirs")
    for path in (ours, theirs):
        java.create(path, COLUMNS, options=options)
    try:
        java.write(theirs, rows)
    except RuntimeError as error:
        if "Decimal scale" not in str(error):  # of numbers such as 100 in a decimal Java makes a scale below 0
            raise
        theirs = ""
    our_engine.write(ours, [(rows, None)])
    if theirs:
        (one,), (other,) = data_files(ours), data_files(theirs)
        assert columns_of(one) == columns_of(other)
        assert one.read().to_pylist() == other.read().to_pylist()
    assert_same(ours, [java])
    check_table(ours)


def columns_of(file: pq.ParquetFile) -> list[str]:
    """The columns with their ids and types, without the name of the whole."""
    return [line.strip() for line in str(file.schema).splitlines() if "field_id" in line and "field_id=-1" not in line]


@pytest.mark.parametrize("mode", ["per-file", "adaptive"])
def test_files_of_one_writer(mode: str, java: Genuine, tmp_path: Path) -> None:
    """With ``adaptive`` the shape of a file depends on those before it."""
    random = Random(1)
    options = {
        "bucket": "1", "bucket-key": "k", "target-file-row-num": "300", "write-only": "true",
        "variant.shredding.inferenceMode": mode,
        "variant.shredding.adaptive.maxInferBufferRow": "40", "variant.shredding.maxInferBufferRow": "100", **INFER,
    }  # fmt: skip
    shown = [{"a": 1, "city": "x"}, {"a": 1.5, "b": [1]}, {"a": "text", "age": 1}, {"é": {"a": 1}, "city": "y"}]
    rows = []
    for k in range(1500):
        value = {**shown[k * len(shown) // 1500], **({"rare": k} if random.random() < 0.08 else {})}
        rows.append((k, VariantUtils.parse_json(json.dumps(value)), None))
    ours, theirs = table_path(tmp_path, "ours"), table_path(tmp_path, "theirs")
    for path in (ours, theirs):
        java.create(path, COLUMNS, options=options)
    java.write(theirs, rows)
    our_engine.write(ours, [(rows, None)])
    one, other = ([columns_of(file) for file in in_order(path)] for path in (ours, theirs))
    assert len(one) == 5
    assert one == other
    assert_same(ours, [java])


def in_order(path: str) -> list[pq.ParquetFile]:
    return sorted(data_files(path), key=lambda file: file.read(["k"]).column(0)[0].as_py())


KINDS_OF_TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {"bucket": "-1"}),
    "vectors": (["k"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "partial-update": (["k"], {"bucket": "1", "merge-engine": "partial-update"}),
    "lookup": (["k"], {"bucket": "1", "changelog-producer": "lookup"}),
    "dynamic": (["k"], {"bucket": "-1"}),
}


@pytest.mark.parametrize("seed", range(tries("PAIMON_SHREDDED_HISTORIES", 2, 200)))
def test_histories(seed: int, java: Genuine, older_java: Genuine, tmp_path: Path) -> None:
    """Writes and compactions of both in turn, while the options change."""
    random, path = Random(seed), table_path(tmp_path)
    keys, options = random.choice(list(KINDS_OF_TABLES.values()))
    java.create(path, COLUMNS, keys=keys, options=options)
    for turn in range(5):
        shredding: dict[str, str] = random.choice([{}, INFER, given_shape(random)])
        drawn_rows = rows_of(random, 20, random.choice([0, 0.3]))
        rows = [(k + 10 * turn, *row) for k, *row in drawn_rows]
        match random.choice(["ours", "theirs", "ours", "our compaction", "their compaction"]):
            case "ours":
                our_engine.write(path, [(rows, None)], shredding)
            case "theirs":
                java.write(path, without_decimals(rows), options=shredding)
            case "our compaction":
                our_engine.compact(path, True, shredding)
            case _ if "variant.inferShreddingSchema" not in shredding:
                java.compact(path, options=shredding)
        assert_same(path, [java, older_java] if not turn % 2 else [java])
    check_table(path)


def without_decimals(rows: list[Row]) -> list[Row]:
    """Java fails to infer the type of a decimal that ends in zeros."""
    return [row for row in rows if b"100" not in repr(row).encode()] or rows[:1]


def test_compactions_shred(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, keys=["k"], options={"bucket": "1"})
    for turn in range(2):
        our_engine.write(path, [(rows_of(Random(turn), others=0), None)])
    assert not any("typed_value" in str(file.schema) for file in data_files(path))
    our_engine.compact(path, True, INFER)
    assert any("typed_value" in str(file.schema) for file in data_files(path))
    assert_same(path, [java])


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP(6)", "BYTES", "CHAR(3)", "MULTISET<INT>", "MAP<STRING, INT>"])
def test_types_that_neither_writes(kind: str, java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    shape = {"type": "ROW", "fields": [{"name": "v", "type": kind}]}
    java.create(path, COLUMNS, options={"bucket": "-1"})
    option = {"variant.shreddingSchema": json.dumps(shape)}
    with pytest.raises(OptionError, match=r"variant\.shreddingSchema"):
        our_engine.write(path, [(rows_of(Random(1)), None)], option)
    with pytest.raises(RuntimeError):
        java.write(path, rows_of(Random(1)), options=option)
    assert open_table(path).scan().to_arrow().num_rows == 0


def test_statistics_of_shredded_files(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, options={"bucket": "-1", **INFER})
    rows = [(k, VariantUtils.parse_json(json.dumps({"a": k})) if k % 3 else None, None) for k in range(9)]
    our_engine.write(path, [(rows, None)])
    java.write(path, rows)
    files = open_table(path).system_table("files").to_arrow().to_pylist()
    ours, theirs = ({name: file[name] for name in file if "value" in name} for file in files)
    assert ours == theirs


def test_dates_and_bytes_stay_as_they_are(java: Genuine, tmp_path: Path) -> None:
    """Java fails to write columns of them that it infers."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, options={"bucket": "-1", **INFER})
    dates = [(k, (b"\x2c" + k.to_bytes(4, "little"), b"\x01\x00\x00"), None) for k in range(5)]
    our_engine.write(path, [(dates, None)])
    assert assert_same(path, [java]).total() == 5
    assert pa.types.is_struct(next(data_files(path)).schema_arrow.field("v").type)


def test_a_column_that_is_added(java: Genuine, tmp_path: Path) -> None:
    """Java: SchemaEvolutionTest.testAddVariantFieldWithShredding."""
    path = table_path(tmp_path)
    java.create(path, {"k": "INT"}, options={"bucket": "-1", **INFER})
    our_engine.write(path, [([(1,)], None)])
    java.alter(path, ("addColumn", "v", "VARIANT"))
    value = VariantUtils.parse_json('{"age": 35, "city": "Chicago"}')
    our_engine.write(path, [([(2, value)], None)])
    assert sum("typed_value" in str(file.schema) for file in data_files(path)) == 1
    found = {k: v and VariantUtils.to_python(*v) for _, (k, v) in java.read(path)}
    assert found == {1: None, 2: {"age": 35, "city": "Chicago"}}
