"""Files into a table: COPY INTO <table> (features 2.5; Java: CopyIntoTableExec).

All good rows are written in one commit, and then the files are recorded in the load history of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.errors import CommitStateUnknown, DataError, SqlError
from paimon_spark.format.load_history import SourceFile
from paimon_spark.format.options.write_settings import CommitSettings
from paimon_spark.format.rules.missing_columns import DEFAULT
from paimon_spark.format.types import DataField
from paimon_spark.spark.copy.checked_rows import CheckedRows, FileReport
from paimon_spark.spark.copy.file_format import FileFormat
from paimon_spark.spark.copy.source_files import list_files
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.load_history import LoadHistory
from paimon_spark.writes.options import WRITE_MISSING_COLUMNS

ABORT, CONTINUE, SKIP_FILE = "ABORT_STATEMENT", "CONTINUE", "SKIP_FILE"
LOADED, PARTIALLY_LOADED, LOAD_FAILED, SKIPPED = "LOADED", "PARTIALLY_LOADED", "LOAD_FAILED", "SKIPPED"


@dataclass(frozen=True)
class LoadRequest:
    """What a COPY INTO <table> asks for.

    Attributes:
        name: of the table, for messages.
        path: a directory, of which all files are meant, or a file.
        columns: of the table, which the files fill; (): all.
        pattern: a regular expression of Java that is found in the names of files; None: all files.
        force: files are loaded that have been loaded before.
        on_error: what happens to a file with bad rows: ABORT, CONTINUE or SKIP_FILE.
    """

    name: str
    path: str
    file_format: FileFormat
    columns: tuple[str, ...] = ()
    pattern: str | None = None
    force: bool = False
    on_error: str = ABORT


@dataclass(frozen=True)
class FileResult:
    """What became of a file: one row of the result, in the order of its columns."""

    file_name: str
    status: str
    rows_loaded: int = 0
    rows_parsed: int = 0
    errors_seen: int = 0
    first_error: str | None = None


def load_files(spark: SparkSession, stored: Table, target: PaimonTable, request: LoadRequest) -> list[FileResult]:
    """Loads the files of a directory that have not been loaded yet.

    Args:
        stored: the table as it is.
        target: the same table, for the write.

    Returns:
        What became of each file: first those that were to be loaded, then those loaded before, each sorted by name.

    Raises:
        SqlError: the list of columns does not fit the table.
        OptionError: there is nothing at the path, or the pattern is no regular expression.
        DataError: a row is bad, and on_error is ABORT; nothing was loaded. Or rows break a rule of the table.
        PaimonError: as PaimonTable.append; nothing was loaded unless the error says so.
    """
    columns = _target_columns(request, stored.schema.fields)
    files = list_files(spark, request.path, request.pattern)
    history = LoadHistory(stored)
    before = frozenset() if request.force else history.loaded(files)
    new = [file for file in files if file not in before]
    results = _load(spark, history, target, request, columns, new) if new else []
    return [*results, *(FileResult(file.name, SKIPPED) for file in files if file in before)]


def _load(
    spark: SparkSession,
    history: LoadHistory,
    target: PaimonTable,
    request: LoadRequest,
    columns: Sequence[DataField],
    files: Sequence[SourceFile],
) -> list[FileResult]:
    with CheckedRows(spark, files, request.file_format, columns) as rows:
        results = [_result(file, rows.reports.get(file.name, FileReport()), request.on_error) for file in files]
        _check_all_reported(rows.reports, files)
        if request.on_error == ABORT:
            _refuse_errors(request, results)
        loaded = {
            file: result.rows_loaded
            for file, result in zip(files, results, strict=True)
            if result.status in (LOADED, PARTIALLY_LOADED)
        }
        if loaded:
            _write(history, target, rows.good(of_good_files=request.on_error == SKIP_FILE), loaded)
    return results


def _write(history: LoadHistory, target: PaimonTable, rows: DataFrame, loaded: Mapping[SourceFile, int]) -> None:
    pending = history.begin(loaded)
    options = {WRITE_MISSING_COLUMNS.key: DEFAULT, CommitSettings.user_prefix.key: pending.user_prefix}
    try:
        written = target.append(rows, options) if any(loaded.values()) else None
    except CommitStateUnknown:
        raise  # the next load finds out
    except Exception:
        history.settle(pending)
        raise
    history.finish(pending, written.snapshot_id if written is not None else None)


# -------------------------------------------------------------------------------------------------------------- results


def _result(file: SourceFile, report: FileReport, on_error: str) -> FileResult:
    good = report.rows - report.errors
    if not report.errors:
        return FileResult(file.name, LOADED, good, report.rows)
    is_partial = good > 0 and on_error == CONTINUE
    status = PARTIALLY_LOADED if is_partial else LOAD_FAILED
    return FileResult(file.name, status, good if is_partial else 0, report.rows, report.errors, report.first_error)


def _check_all_reported(reports: Mapping[str, FileReport], files: Sequence[SourceFile]) -> None:
    unknown = sorted(reports.keys() - {file.name for file in files})
    if unknown:
        raise DataError(f"COPY INTO: Spark names a file {unknown[0]!r} that was not listed; nothing was loaded")


def _refuse_errors(request: LoadRequest, results: Sequence[FileResult]) -> None:
    failed = [result for result in results if result.errors_seen]
    if failed:
        first, others = failed[0], f" (and of {len(failed) - 1} more files)" if len(failed) > 1 else ""
        raise DataError(
            f"COPY INTO {request.name}: {first.errors_seen} of {first.rows_parsed} rows of {first.file_name}{others} "
            f"are bad, so nothing was loaded (ON_ERROR = {ABORT}); the first error: {first.first_error!r}. Correct the "
            f"files, or load the other rows with ON_ERROR = {CONTINUE}, or the other files with ON_ERROR = {SKIP_FILE}"
        )


# -------------------------------------------------------------------------------------------------------------- columns


def _target_columns(request: LoadRequest, fields: Sequence[DataField]) -> list[DataField]:
    if not request.columns:
        return list(fields)
    found = [_column(request.name, name, fields) for name in request.columns]
    repeated = sorted({own.name for own in found if found.count(own) > 1})
    if repeated:
        raise SqlError(f"COPY INTO {request.name}: the list names {', '.join(repeated)} more than once")
    for own in fields:
        if own not in found and not own.type.nullable and own.default_value is None:
            raise SqlError(
                f"COPY INTO {request.name}: the column '{own.name}' is NOT NULL and has no default value, so it must "
                "be in the list"
            )
    return found


def _column(table: str, name: str, fields: Sequence[DataField]) -> DataField:
    exact = [own for own in fields if own.name == name]
    found = exact or [own for own in fields if own.name.lower() == name.lower()]
    if len(found) != 1:
        names = ", ".join(own.name for own in fields)
        what = "ambiguous" if found else "no column of the table"
        raise SqlError(f"COPY INTO {table}: {name} is {what}; its columns are {names}")
    return found[0]
