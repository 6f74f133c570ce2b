"""COPY INTO: files into a table, and rows into files (features 2.5)."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.spark.adapters.dataframes import rows_frame
from paimon_spark.spark.copy.file_format import export_format, import_format
from paimon_spark.spark.copy.load import ABORT, LoadRequest, load_files
from paimon_spark.spark.copy.unload import unload_rows
from paimon_spark.spark.native.read_table import read_table
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.table_use import plan_read
from paimon_spark.sql.statements import CopyInto

_IMPORTED = pa.schema(
    [
        pa.field("file_name", pa.string(), False),
        pa.field("status", pa.string(), False),
        pa.field("rows_loaded", pa.int64(), False),
        pa.field("rows_parsed", pa.int64(), False),
        pa.field("errors_seen", pa.int64(), False),
        pa.field("first_error", pa.string()),
    ]
)
_EXPORTED = pa.schema(
    [
        pa.field("output_path", pa.string(), False),
        pa.field("file_count", pa.int32(), False),
        pa.field("rows_written", pa.int64(), False),
    ]
)


def run_copy(session: SqlSession, copy: CopyInto, args: Args = None) -> DataFrame:
    """Loads files, or writes rows to files.

    Args:
        args: for the parameters of the query whose rows are written.

    Returns:
        For an import a row for each file, for an export one row.

    Raises:
        SqlError, OptionError, DataError, PaimonError: as load_files and unload_rows say.
    """
    return _export(session, copy, args) if copy.is_export else _import(session, copy)


def _import(session: SqlSession, copy: CopyInto) -> DataFrame:
    assert copy.table is not None, "only an export may have no table"
    said: dict[str, Any] = dict(copy.options)
    request = LoadRequest(
        str(copy.table),
        copy.path,
        import_format(copy.format, copy.format_options),
        copy.columns,
        said.get("PATTERN"),
        said.get("FORCE", False),
        str(said.get("ON_ERROR", ABORT)).upper(),
    )
    target = session.table(copy.table)
    results = load_files(session.spark, session.open(copy.table), target, request)
    return rows_frame(session.spark, _IMPORTED, map(astuple, results))


def _export(session: SqlSession, copy: CopyInto, args: Args) -> DataFrame:
    file_format = export_format(copy.format, copy.format_options)
    if copy.query is not None:
        rows, names = run_query(session, copy.query, args), [use.name for use in copy.query.uses]
    else:
        assert copy.table is not None, "without a query there is a table"
        rows, names = read_table(session.spark, plan_read(session, copy.table)).frame, [copy.table]
    kept = {session.location(name).partition("$")[0] for name in names}
    overwrite = bool(copy.options.get("OVERWRITE", False))
    result = unload_rows(session.spark, rows, copy.path, file_format, overwrite, kept)
    return rows_frame(session.spark, _EXPORTED, [astuple(result)])
