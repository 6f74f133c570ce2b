"""Files of postponed rows, which are stored in write order, not sorted and without sequence numbers (format section 1).

Java: PostponeBucketFileStoreWrite, PostponeUtils.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.formats.avro_columns import avro_schema
from paimon_spark.arrow.statistics.manifest_stats import NONE
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from paimon_spark.store.write.file_layout import FileLayout, data_rules, layout_by, with_packs

UNKNOWN_SEQUENCE = -1


def postpone_prefix(prefix: str, user: str, writer: int) -> str:
    """The prefix of the names of one writer's files.

    Args:
        prefix: option ``data-file.prefix``.
        user: the commit user of the job.
        writer: the number of the writer in the job, from 0; the official system reads the files of one number in one
            task.
    """
    return f"{prefix}-u-{user}-s-{writer}-w-"


def postpone_layout(schema: TableSchema, settings: TableSettings, user: str, writer: int, staged: bool) -> FileLayout:
    """The layout of one writer's postponed files: Avro if it can hold the columns, without statistics.

    Args:
        schema: the schema of the table.
        settings: the options of the table and the write.
        user: the commit user of the job.
        writer: the number of the writer in the job, from 0.
        staged: True if the files are never committed, so that the official system need not be able to read them.
    """
    prefix = postpone_prefix(settings.files.prefix, user, writer)
    if staged or _fits_avro(schema):
        file_format = settings.files.format_per_level.get(0, "parquet" if staged else "avro")
        rules = replace(data_rules(settings, stats_mode=NONE), prefix=prefix, file_format=file_format)
    else:
        rules = replace(data_rules(settings), prefix=prefix)
    layout = with_packs(layout_by(schema, settings, rules), schema, settings)
    # Not even of keys, which come in no order (Java: StatsCollectorFactories.createStatsFactoriesForAvro).
    system = {*layout.key_names, SEQUENCE_NUMBER, VALUE_KIND}
    names = (field.name for field in layout.file_fields)
    modes = (NONE if name in system else mode for name, mode in zip(names, layout.stats_modes, strict=True))
    return replace(layout, stats_modes=tuple(modes))


def _fits_avro(schema: TableSchema) -> bool:
    try:
        avro_schema(schema.fields)
    except UnsupportedFeature:
        return False
    return True


def unnumbered(rows: pa.RecordBatch, kinds: Kinds | None) -> pa.RecordBatch:
    """The rows with the sequence number that means none, and with their kinds (None: all are inserts)."""
    numbers = pa.array(np.full(rows.num_rows, UNKNOWN_SEQUENCE))
    codes = pa.array(np.zeros(rows.num_rows, np.int8) if kinds is None else kinds)
    schema = rows.schema.append(pa.field(SEQUENCE_NUMBER, pa.int64(), nullable=False))
    schema = schema.append(pa.field(VALUE_KIND, pa.int8(), nullable=False))
    return pa.RecordBatch.from_arrays([*rows.columns, numbers, codes], schema=schema)
