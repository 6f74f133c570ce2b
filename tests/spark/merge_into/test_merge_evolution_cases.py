"""The merge-schema cases of Java's MergeIntoTableTestBase, MergeIntoAlignmentTest and WriteMergeSchemaTest that are not
in test_merge_evolution, in our words."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimon_spark import PaimonTable
from paimon_spark.errors import DataError
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
KEYED = {"primary-key": "id", "bucket": "1"}


def made(spark: SparkSession, path: Path, query: str, **options: str) -> PaimonTable:
    """A table with the rows of a query, called t in expressions."""
    frame = spark.sql(query).coalesce(1)
    frame.write.format("paimon").mode("append").options(**options).save(str(path / "t"))
    return PaimonTable.forPath(spark, str(path / "t")).alias("t")


def rows(path: Path) -> list[tuple[object, ...]]:
    """The rows of the table, sorted; they are read without Spark."""
    found = open_table(str(path / "t")).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def schemas(path: Path) -> int:
    return len(list((path / "t/schema").iterdir()))


def test_only_clauses_of_all_columns_bring_new_ones(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Explicit update columns; partial explicit update; star update with explicit insert, and the reverse; several
    clauses with conditions."""
    table = made(quick_spark, tmp_path, "select * from values (1, 'a'), (2, 'b') as v(id, s)")
    source = quick_spark.sql("select * from values (1, 'u', 10), (3, 'w', 30) as v(id, s, n)").alias("q")
    merge = table.merge(source, "t.id = q.id")
    named = merge.whenMatchedUpdate(set={"s": "q.s"})
    named.whenNotMatchedInsert(values={"id": "q.id", "s": "q.s"}).withSchemaEvolution().execute()
    assert (rows(tmp_path), schemas(tmp_path)) == ([(1, "u"), (2, "b"), (3, "w")], 1)
    table.delete("id = 3")
    star = merge.whenMatchedUpdateAll("q.n > 5").whenMatchedDelete("q.n <= 5")
    star.whenNotMatchedInsert("q.n > 5", {"id": "q.id", "s": "q.s"}).withSchemaEvolution().execute()
    assert (rows(tmp_path), schemas(tmp_path)) == ([(1, "u", 10), (2, "b", None), (3, "w", None)], 2)
    more = quick_spark.sql("select * from values (1, 'x', 1D), (4, 'y', 4D) as v(id, s, d)").alias("q")
    star = table.merge(more, "t.id = q.id").whenMatchedUpdate(set={"s": "q.s"}).whenNotMatchedInsertAll()
    star.withSchemaEvolution().execute()
    assert rows(tmp_path) == [(1, "x", 10, None), (2, "b", None, None), (3, "w", None, None), (4, "y", None, 4.0)]
    assert schemas(tmp_path) == 3


@pytest.mark.parametrize("options", [{}, KEYED], ids=["append", "keyed"])
def test_fields_in_arrays_and_maps_are_added_wherever_they_stand(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Structs in arrays and in values of maps, with fields in another order, a new field with a number for its name in
    the middle, and a new column; three levels of structs whose deepest field stays; NULL for a struct."""
    item = "named_struct('lang', 'no', 'text', 'old')"
    deep = "named_struct('a', 1, 'l2', named_struct('b', 2, 'l3', named_struct('c', 3, 'd', 4)))"
    table = made(quick_spark, tmp_path, f"select 1 as id, array({item}) as l, map('k', {item}) as m, {deep} as l1",
                 **options)  # fmt: skip
    item = "named_struct('text', 'new', '0', named_struct('url', 'u'), 'lang', 'en')"
    deep = "named_struct('l2', named_struct('l3', named_struct('C', 30), 'b', 20), 'a', 10)"
    source = quick_spark.sql(
        f"select id, map('k', {item}) as m, 'e' as extra, array({item}) as l, {deep} as l1 from values (1), (2) v(id)"
    ).alias("q")
    merge = table.merge(source, "t.id = q.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    merge.withSchemaEvolution().execute()
    new = {"lang": "en", "text": "new", "0": {"url": "u"}}

    def levels(deepest: int | None) -> dict[str, object]:
        return {"a": 10, "l2": {"b": 20, "l3": {"c": 30, "d": deepest}}}

    expected = [(1, [new], [("k", new)], levels(4), "e"), (2, [new], [("k", new)], levels(None), "e")]
    assert rows(tmp_path) == expected
    nothing = table.toDF(where="id = 2").selectExpr("id", "if(id = 2, null, l1) as l1").alias("q")
    table.merge(nothing, "t.id = q.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    assert rows(tmp_path)[1] == (2, [new], [("k", new)], None, "e")
    assert schemas(tmp_path) == 2


def test_arrays_keep_their_type_without_widening(quick_spark: SparkSession, tmp_path: Path) -> None:
    """ARRAY<INT> target with ARRAY<BIGINT> source, with and without merge-schema; the source in other letters."""
    table = made(quick_spark, tmp_path, "select 1 as id, array(80) as ports", **KEYED)
    source = quick_spark.sql("select 1 as ID, array(8080L) as PORTS").alias("q")
    merge = table.merge(source, "t.id = q.ID").whenMatchedUpdateAll()
    merge.execute()
    assert rows(tmp_path) == [(1, [8080])]
    other = table.merge(quick_spark.sql("select 2 as Id, array(9090L) as pOrts").alias("q"), "t.id = q.id")
    other.whenNotMatchedInsertAll().withSchemaEvolution().execute()
    assert (rows(tmp_path), schemas(tmp_path)) == ([(1, [8080]), (2, [9090])], 1)


def test_keys_of_maps_stay_as_they_are(quick_spark: SparkSession, tmp_path: Path) -> None:
    """testDiffNestedSchemaChangesDoesNotTreatMapKeyAsValueChange: a field that only keys have has no place to go."""
    table = made(quick_spark, tmp_path, "select 1 as id, map(named_struct('x', 1), named_struct('v', 1)) as m")
    key = "named_struct('x', 1, 'y', 2)"
    source = quick_spark.sql(f"select 1 as id, map({key}, named_struct('v', 2)) as m").alias("q")
    with pytest.raises(DataError, match="has the fields x, and the value x, y"):
        table.merge(source, "t.id = q.id").whenMatchedUpdateAll().withSchemaEvolution().execute()
    with pytest.raises(Exception, match="column 'm'"):
        table.append(source, {"write.merge-schema": "true"})
    assert schemas(tmp_path) == 1
