"""Tables with a key whose compacted files are sorted by other columns (`pk-clustering-override`; features 3.24).

Java: SchemaValidation.validatePkClusteringOverride, KeyValueClusteringFileWriter. New files are on level 0 and sorted
by the key. Compacted files are on level 1 and sorted by `clustering.columns`, and what the manifest records as their
smallest and greatest key is the first and the last value of these columns.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import ClusteringSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import UNORDERED, DataField

OVERRIDE = ClusteringSettings.override.key
SORTED_LEVEL = 1
"""The level of the files that are sorted by the clustering columns."""
_ENGINES = (MergeEngine.DEDUPLICATE, MergeEngine.FIRST_ROW)
_PRODUCERS = (ChangelogProducer.NONE, ChangelogProducer.INPUT)
_INDEXES = (
    "pk-btree.index.columns",
    "pk-bitmap.index.columns",
    "pk-vector.index.columns",
    "pk-full-text.index.columns",
)


def orders_otherwise(settings: TableSettings) -> bool:
    """True if the compacted files of a table with a primary key are in another order than that of the key."""
    return settings.clustering.override


def clustering_fields(schema: TableSchema, settings: TableSettings) -> tuple[DataField, ...]:
    """The columns that order the compacted files of a table with `pk-clustering-override`, the most important first.

    Raises:
        OptionError: one of them is no column, or has no order.
    """
    fields = []
    for name in settings.clustering.columns:
        field, key = schema.by_name.get(name), ClusteringSettings.columns.key
        if field is None:
            raise OptionError(
                f"the option '{key}' names '{name}', which is no column: compacted files cannot be sorted by it; the "
                f"columns are {', '.join(schema.names)}"
            )
        if field.type.root in UNORDERED:
            raise OptionError(
                f"the option '{key}' names '{name}' of type {type_sql(field.type)}, which has no order: compacted "
                "files cannot be sorted by it; name columns of plain values"
            )
        fields.append(field)
    return tuple(fields)


def key_clustering_faults(schema: TableSchema, settings: TableSettings) -> Iterator[str]:
    """Why the official system would refuse the options of a table with `pk-clustering-override`."""
    if not settings.clustering.override:
        return
    first_row = settings.merge_engine == MergeEngine.FIRST_ROW
    what = f"the option '{OVERRIDE}' = 'true'"
    if not settings.clustering.columns:
        yield f"{what} needs the option '{ClusteringSettings.columns.key}', which names the columns to sort by"
    try:
        clustering_fields(schema, settings)
    except OptionError as error:
        yield str(error)
    if not settings.deletion_vectors_enabled and not first_row:
        yield f"{what} needs 'deletion-vectors.enabled' = 'true', or 'merge-engine' = 'first-row'"
    if settings.merge_engine not in _ENGINES:
        yield f"{what} goes with the merge engines deduplicate and first-row, not with {settings.merge_engine}"
    if settings.sequence_field:
        yield f"{what} does not go with the option 'sequence.field'"
    if settings.changelog_producer not in _PRODUCERS:
        yield f"{what} goes with changelog-producer none or input, not with {settings.changelog_producer}"
    if settings.record_level_expire_time is not None:
        yield f"{what} does not go with the option '{TableSettings.record_level_expire_time.key}'"
    yield from (f"{what} does not go with the option '{key}'" for key in _INDEXES if settings.get(key, "").strip())


def check_key_clustering(schema: TableSchema, settings: TableSettings) -> None:
    """Checks that a table with `pk-clustering-override` can be written as the official system does.

    Raises:
        UnsupportedFeature: it cannot; the message says why.
    """
    for fault in key_clustering_faults(schema, settings):
        raise UnsupportedFeature(f"cannot write to the table: {fault}")


def check_key_order(settings: TableSettings, what: str) -> None:
    """Checks that the files of a table with a primary key are in the order of the key.

    With `pk-clustering-override` they are in another order, and their metadata do not tell their first and last keys
    (Java: KeyValueClusteringFileWriter): only compacted files can be read, which need no merge. Java merges them as if
    they were in the order of the key, and may return several rows of a key.

    Args:
        settings: of the table, with those of the call on top.
        what: is read, for the error: "changes".

    Raises:
        UnsupportedFeature: they are not.
    """
    if orders_otherwise(settings):
        raise UnsupportedFeature(
            f"cannot read {what} of the table: with '{OVERRIDE}' its files are not in the order of the primary key, "
            "and rows of theirs cannot be merged; compact the table, and read its compacted state"
        )
