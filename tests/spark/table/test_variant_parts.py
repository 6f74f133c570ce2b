"""Parts of VARIANT values without Spark: they are what Spark makes of them, and conditions leave out no row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow
from support.draws.json_values import random_json
from support.long_runs import tries

from paimon_spark import catalog, json_texts, open_table
from paimon_spark.arrow.shredding.casts import cast
from paimon_spark.arrow.shredding.paths import find
from paimon_spark.arrow.types import VARIANT
from paimon_spark.errors import DataError, OptionError, PredicateError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.scan.path_columns import parts_in

pytestmark = pytest.mark.spark

TYPES = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "DOUBLE",
    "DECIMAL(5, 1)",
    "DECIMAL(38, 3)",
    "STRING",
    "DATE",
]
PATHS = ["$", "$.a", "$.b", "$.age", '$["a.b"]', "$.b[0]", "$.a.city", "$[1]"]
NUMBERS = (0, 1, -1, 127, 128, 300, 2**31, -(2**31), 2**63 - 1, 2**63, 0.5, 1.5, -2.5, 99999.95, 1e-3, 127.9, -128.5,
           1e30, 9.3e18, -9.3e18, 10**20, 12345.6789)  # fmt: skip


def random_texts(random: Random, count: int) -> list[str]:
    scalars: Sequence[Any] = (*NUMBERS, True, False, None, "text", "5", "")
    values: list[Any] = [random_json(random) for _ in range(count // 4)]
    values += [{name: random.choice(scalars) for name in ("a", "b", "age", "a.b")} for _ in range(count // 2)]
    values += [{"a": {"city": random.choice(scalars)}, "b": [random.choice(scalars)]} for _ in range(count // 4)]
    return [json.dumps(value) for value in values]


def of_texts(spark: SparkSession, texts: Sequence[str]) -> DataFrame:
    rows = [SparkRow(id=n, text=text) for n, text in enumerate(texts)]
    return spark.createDataFrame(rows, "id int, text string").coalesce(1).selectExpr("id", "parse_json(text) v")


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    path = str(tmp_path / "t")
    of_texts(spark, random_texts(Random(7), 80)).write.format("paimon").mode("append").save(path)
    return path


@pytest.mark.parametrize("seed", range(tries("PAIMON_VARIANT_CASTS", 1, 20)))
def test_casts_are_those_of_spark(seed: int, spark: SparkSession, table: str) -> None:
    """Value by value; a cast that is not done here says so, and is none of what the guide names."""
    random = Random(seed)
    rows = of_texts(spark, random_texts(random, 120)).cache()
    values = {row.id: (bytes(row.v.value), bytes(row.v.metadata)) for row in rows.collect()}
    schema, done = open_table(table).schema, 0
    for text in PATHS:
        whole = f"variant_get(v, '{text}', 'variant')"
        asked = [f"try_variant_get(v, '{text}', '{kind}') c{n}" for n, kind in enumerate(TYPES)]
        found = rows.selectExpr(
            "id", f"{whole} IS NOT NULL AND NOT is_variant_null({whole}) is_there", *asked
        ).collect()
        (part,) = parts_in(schema, [f"variant_get(v, '{text}', 'int')"], None).paths
        for row in found:
            value = pa.array([dict(zip(("value", "metadata"), values[row.id], strict=True))], VARIANT)
            at = find(value, part.path)
            for number, kind in enumerate(TYPES):
                wanted = row[f"c{number}"]
                try:
                    made = cast(at, parse_type(kind), False, "a part").to_pylist()
                except UnsupportedFeature:
                    continue
                done += 1
                assert repr(made) == repr([wanted]), (text, kind, value)
                if wanted is None and row.is_there:
                    with pytest.raises(DataError, match="a part"):
                        cast(at, parse_type(kind), True, "a part")
    assert done > 5000


CONDITIONS = [
    "try_variant_get(v, '$.n', 'bigint') {op} {number}",
    "try_variant_get(v, '$.n', 'double') {op} {number}",
    "try_variant_get(v, '$.n', 'smallint') {op} {number}",
    "try_variant_get(v, '$.n', 'decimal(9, 1)') {op} {number}.05",
    "try_variant_get(v, '$.o.t', 'string') {op} 't{number}'",
    "try_variant_get(v, '$.n', 'int') IS NULL OR try_variant_get(v, '$.n', 'int') = {number}",
    "NOT try_variant_get(v, '$.n', 'int') {op} {number} AND id > 20",
    "try_variant_get(v, '$.o.b', 'boolean')",
    "try_variant_get(v, '$.rest', 'int') {op} {number}",
]


@pytest.mark.parametrize("seed", range(tries("PAIMON_VARIANT_CONDITIONS", 1, 20)))
@pytest.mark.parametrize("keys", [{}, {"primary-key": "id", "bucket": "1"}])
def test_conditions_leave_out_no_row(keys: dict[str, str], seed: int, spark: SparkSession, tmp_path: Path) -> None:
    """Files of numbers that ascend, with values of other types among them."""
    random = Random(f"{keys} {seed}")
    others: Sequence[Any] = (None, 2.5, 10**20, -1, True, {})
    texts = []
    for n in range(2000):
        value = {"n": n, "o": {"t": f"t{n}", "b": n > 1000}, **({"rest": n} if n % 50 == 0 else {})}
        if random.random() < 0.01:
            value["n"] = random.choice(others)
        texts.append(json.dumps(value if random.random() > 0.001 else random.choice(others)))
    path = str(tmp_path / "t")
    rows = of_texts(spark, texts).cache()
    options = {"variant.inferShreddingSchema": "true", **keys}
    for first in range(0, len(texts), 400):
        some = rows.where(f"id BETWEEN {first} AND {first + 399}")
        some.write.format("paimon").options(**options).mode("append").save(path)
    if keys:
        rows.where("id % 3 = 0").write.format("paimon").mode("append").save(path)
    rows.createOrReplaceTempView("written_parts")
    table = open_table(path)
    for condition in CONDITIONS:
        text = condition.format(op=random.choice(["=", "<", ">=", "<=>", "!="]), number=random.randrange(2000))
        wanted = sorted(row.id for row in spark.sql(f"SELECT id FROM written_parts WHERE {text}").collect())
        assert sorted(table.scan(["id"], text).to_arrow()["id"].to_pylist()) == wanted, text
        assert table.scan(where=text).count() == len(wanted)


def test_columns_with_names(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    texts = ['{"user": {"id": 7, "tags": ["x", "y"]}, "city": "Oslo"}', '{"user": {"id": 8}}', "5"]
    options = {"variant.inferShreddingSchema": "true"}
    of_texts(spark, texts).write.format("paimon").options(**options).mode("append").save(path)
    table = open_table(path)
    asked = ["id", "v:user.id::INT AS user", "v:user.tags[1]::STRING AS tag", "variant_get(v, '$.city', 'string')"]
    found = table.scan(asked, "v:user.id::int >= 7 AND v:city::string = 'Oslo'").to_arrow().to_pylist()
    assert found == [{"id": 0, "user": 7, "tag": "y", "variant_get(v, '$.city', 'string')": "Oslo"}]
    assert table.scan("id, v:user.id::BIGINT", "id = 1").to_arrow().to_pylist() == [{"id": 1, "v:user.id::BIGINT": 8}]
    whole = table.scan(["v", "v:user.id::INT AS user"], "id = 0").to_arrow()
    assert json.loads(json_texts(whole["v"])[0].as_py()) == json.loads(texts[0])
    assert table.scan(["id"], "'v:user.id::INT' = 'x' OR id = 2").to_arrow()["id"].to_pylist() == [2]
    assert table.scan(["v:['user']['id']::INT AS n"], "v:['city']::string = 'Oslo'").to_arrow().to_pylist() == [
        {"n": 7}
    ]
    for untyped in ("v:city = 'Oslo'", "id = 0 AND v:user.id IS NULL", "v:user['id'] > 1 OR v:city::string = 'Oslo'"):
        with pytest.raises(PredicateError, match=r"needs its type: write v:(city|user.id|user\['id'\])::STRING"):
            table.scan(where=untyped)
    for bad, error in (("id:a::INT", OptionError), ("v:a::TIMESTAMP", UnsupportedFeature)):
        with pytest.raises(error, match="a::"):
            table.scan([bad])


@pytest.mark.parametrize("read", ["local", "tasks"])
def test_conditions_on_parts_of_a_table_of_a_catalog(read: str, spark: SparkSession, tmp_path: Path) -> None:
    """They are those of a scan: our reader takes all files, because Spark's own has no column of that name."""
    session = spark.newSession()
    session.conf.set("spark.paimon.read.local", str(read == "local").lower())
    cat = catalog(session, str(tmp_path))
    cat.sql("CREATE DATABASE paimon.d")
    cat.sql("CREATE TABLE paimon.d.t (id INT, v VARIANT)")
    cat["d.t"].append(of_texts(session, [f'{{"n": {n}}}' for n in range(50)]))
    frame = cat.table("d.t", where="v:n::int >= 30 AND id < 32")
    assert [(row.id, row.v.toPython()) for row in frame.orderBy("id").collect()] == [(30, {"n": 30}), (31, {"n": 31})]
    assert cat["d.t"].toDF(where="v:n::int = 3").count() == cat["d.t"].count("v:n::int = 3") == 1
    with pytest.raises(UnsupportedFeature, match="names a part of a VARIANT value"):
        cat.table("d.t", where="v:n::int = 3", native=True).collect()
    with pytest.raises(PredicateError, match=r"parts of VARIANT values .* are for scan\(where=\)"):
        open_table(str(tmp_path / "d.db" / "t")).update("v:n::int = 3", {"id": 1})
