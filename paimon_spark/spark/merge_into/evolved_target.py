"""The table that a MERGE with schema evolution writes: with the columns of the source that its clauses assign.

Java: MergeSchemaEvolutionHelper (2.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import types as st

from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.merge_into.clauses import Clause, When
from paimon_spark.spark.rows.assignments import without_alias
from paimon_spark.spark.rows.target import Target
from paimon_spark.spark.write.evolved_table import merged_table
from paimon_spark.spark.write.write_job import Evolution
from paimon_spark.sql.text.single_name import column_path
from paimon_spark.store.evolution.merged_schema import Merging


def evolved_target(
    target: Target, source: st.StructType, clauses: Sequence[Clause], alias: str, merging: Merging
) -> Target:
    """The target with the columns that the source brings; the same if it has them. Nothing is published yet.

    Args:
        source: the columns of the source. With a clause that assigns all by name they all count, else those that
            clauses assign and the table lacks.
        alias: of the table in the names of assigned columns.

    Raises:
        SchemaError: the columns cannot become what the source needs.
    """
    scoped = [clause for clause in clauses if clause.when is not When.NOT_MATCHED_BY_SOURCE]
    before, naming = target.table.schema, Naming(merging.case_sensitive)
    if not any(clause.is_star for clause in scoped):
        unknown = {naming.same(name) for name in _unknown(scoped, alias, before.names, naming)}
        source = st.StructType([field for field in source.fields if naming.same(field.name) in unknown])
    table = merged_table(target.table, source, merging)
    return target if table.schema is before else replace(target, table=table, evolution=Evolution(before))


def _unknown(clauses: Sequence[Clause], alias: str, names: Sequence[str], naming: Naming) -> Iterator[str]:
    """The columns that clauses assign and the table lacks."""
    for clause in clauses:
        for key in clause.values or {}:
            path = without_alias(column_path(key), [alias], names, naming)
            if len(path) == 1 and not naming.alike(path[0], names):
                yield path[0]
