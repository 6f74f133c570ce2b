"""Collections of the JVM: small ones are made in one round trip, those with nulls and large ones element by element."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from paimon_spark.spark.spark_catalog.jvm_objects import JvmObjects, dict_of

pytestmark = pytest.mark.spark


@pytest.fixture
def objects(spark: SparkSession) -> JvmObjects:
    return JvmObjects(spark)


@pytest.mark.parametrize("values", [[], ["a"], [None], ["a", None], [*"abcdefghij"], [*"abcdefghijk"]])
def test_arrays_have_the_elements(objects: JvmObjects, values: list[str | None]) -> None:
    made = objects.strings(values)
    assert made.getClass().getName() == "[Ljava.lang.String;"
    assert list(made) == values


@pytest.mark.parametrize("count", [0, 1, 2])
def test_arrays_hold_arrays(objects: JvmObjects, count: int) -> None:
    made = objects.array("[Ljava.lang.String;", [objects.strings(["a", "b"]) for _ in range(count)])
    assert made.getClass().getName() == "[[Ljava.lang.String;"
    assert [list(each) for each in made] == [["a", "b"]] * count


@pytest.mark.parametrize(
    "values", [{}, {"a": None}, dict(zip("abcdefghij", range(10), strict=True)), dict.fromkeys("abcdefghijk", 1)]
)
def test_maps_have_the_pairs(objects: JvmObjects, values: dict[str, int | None]) -> None:
    assert dict_of(objects.map(values)) == values


@pytest.mark.parametrize("values", ["", "a", "abcdefghij", "abcdefghijk"])
def test_sets_have_the_elements(objects: JvmObjects, values: str) -> None:
    assert sorted(objects.set(values).toArray()) == list(values)
