"""What PaimonTable does with the rows of a DataFrame: adds them, or puts them in the place of others.

A first write by the name of a table waits for this module, and not for what changes rows in place (``table_writes``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from paimon_spark.errors import OptionError, TableNotFound
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.dataframes import Rows, as_dataframe, held_rows
from paimon_spark.spark.adapters.errors import without_call_sites
from paimon_spark.spark.adapters.options import OVERWRITE_MODE, PATH, last_of, write_options
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.spark.stream_sink.query import compute, local_query
from paimon_spark.spark.table.table_state import TableState
from paimon_spark.spark.write.bucket_routing import how_computed
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.served import is_served
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.options import DYNAMIC_OVERWRITE, OVERWRITE_WHERE, UNKNOWN_BATCH, Once
from paimon_spark.writes.write_job import WriteResult

_NO_OPTIONS: Mapping[str, str] = {}


class TableAppends(TableState):
    """What adds rows to a table, or replaces partitions of it."""

    def append(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Adds the rows, or upserts them if the table has a primary key.

        Args:
            df: a DataFrame of Spark or pandas, a pyarrow Table, a scan, or what else has Arrow's stream, such as a
                DataFrame of Polars; this process holds all rows but those of Spark.
            options: of this write; ``row-kind-column`` among them.
            once: the name of an application and a number that grows from write to write, such as that of a batch: the
                write happens once. It is looked up before a row is computed; a repeated call does nothing and says so
                (``repeated``). Several writes of one batch need names of their own.
            once_skips_older: whether a lower number than the last one is skipped; else it is an error.

        Raises:
            TableNotFound: the table was dropped; a write makes none.
            StaleBatch: the application has written a later number; the message names the ways out.
            CommitStateUnknown: an earlier call broke off, and the snapshots have expired that could tell whether it
                was committed; the option `write.stream.unknown-batch` = skip or write decides.
            PaimonError: the DataFrame, the options and the table do not fit, or the commit failed.
        """
        return self._write(df, options, False, Once.of(once, once_skips_older))

    def overwrite(
        self,
        df: Rows,
        where: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces all rows, or those of some partitions, in one snapshot.

        In a session with ``spark.sql.sources.partitionOverwriteMode`` = ``dynamic`` and without a condition it replaces
        the partitions that the DataFrame has rows of; the option ``dynamic-partition-overwrite`` decides otherwise.

        Args:
            df: as for append.
            where: SQL text that gives partition columns their values, such as ``dt = '2026-11-01'``; rows of other
                partitions are refused.
            once, once_skips_older: as for append.
        """
        df = held_rows(df)
        chosen = self._overwrite_of_session(options) if where is None else {OVERWRITE_WHERE: where}
        return self._write(df, {**options, **chosen}, True, Once.of(once, once_skips_older))

    def dynamic_partition_overwrite(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces the partitions that the rows belong to, and no other; arguments as for append.

        Raises:
            OptionError: the table has no partitions, so that all its rows would go.
        """
        df = held_rows(df)
        if not self._open_any().schema.partition_keys:
            raise OptionError(
                f"dynamic_partition_overwrite of {self._path}: the table has no partitions; overwrite(df) replaces all "
                "its rows"
            )
        return self._write(df, {**options, DYNAMIC_OVERWRITE: "true"}, True, Once.of(once, once_skips_older))

    def _overwrite_of_session(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """What the session says of overwrites, as option, unless the call says something."""
        says = any(key.lower() in (DYNAMIC_OVERWRITE, OVERWRITE_WHERE) for key in (*self._options, *options))
        mode = self._spark.conf.get(OVERWRITE_MODE, "static") or "static"
        return {DYNAMIC_OVERWRITE: "true"} if not says and mode.lower() == "dynamic" else _NO_OPTIONS

    @without_call_sites()
    def _write(self, rows: Rows, options: Mapping[str, str], overwrite: bool, once: Once | None) -> WriteResult:
        rows = held_rows(rows)
        df = as_dataframe(self._spark, rows)
        given = self._in_session({**self._options, **options, PATH: self._path})
        read = write_options({**given, UNKNOWN_BATCH: last_of(options, UNKNOWN_BATCH) or self._unknown})
        write = read if once is None else replace(read, once=once)
        if is_served(self._path):
            from paimon_spark.spark.jobs.format_job import write_format_table
            from paimon_spark.writes.format_writes import find_format_table

            found = find_format_table(write)
            if found is not None:
                return write_format_table(df, found, write, overwrite)
        missing = None if write.creates else partial(_refuse_lost_table, self._path)
        job = open_job(write, FrameColumns(df.schema), overwrite, missing, finds_keys=True, upserts=True)
        if job.table.settings.upsert_key and not (overwrite or job.table.schema.primary_keys):
            return self._upsert(df, job.table, once)
        done = run_write(self._spark, df, job, here=how_computed(rows))
        if done.repeated and local_query(self._spark) is not None:
            compute(df)
        return done

    def _upsert(self, df: DataFrame, table: Table, once: Once | None) -> WriteResult:
        """Replaces the rows with the same `upsert-key`, and adds the others: a change of rows."""
        raise NotImplementedError


def _refuse_lost_table(path: str) -> None:
    """A table that a write made of its rows would lack the keys and options of the one that the object was made for.

    Raises:
        TableNotFound: always.
    """
    raise TableNotFound(
        f"writing to {path}: there is no table any more; it was dropped or renamed since this PaimonTable was made. "
        f"Nothing was written. Create it again, with its keys and options; or let df.write.format('paimon')"
        f".mode('append').save('{path}') make a table of the rows"
    )
