"""`visibility-callback.enabled`: a write returns when readers see its rows."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import RowsNotVisible
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_compact import compact_postponed
from paimon_spark.store.upkeep.finish_write import wait_until_visible
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

WAITS = {"visibility-callback.enabled": "true", "visibility-callback.check-interval": "1 ms"}


def make(path: Path, **options: str) -> Table:
    columns = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    create_table(str(path), new_schema(columns, ["id"], (), {k.replace("_", "-"): v for k, v in options.items()}))
    return open_table(str(path))


def put(table: Table) -> list[CommitMessage]:
    write = TableWrite(table, "u")
    write.write(pa.RecordBatch.from_pylist([{"id": 1, "v": 2}], schema=arrow_schema(table.schema.fields)))
    messages = write.finish()
    TableCommit(table, str(uuid.uuid4())).append(messages)
    return messages


def test_rows_that_wait_are_waited_for_until_somebody_compacts(tmp_path: Path) -> None:
    table = make(tmp_path / "t", bucket="-2")
    messages = put(table)
    other = threading.Thread(target=compact_postponed, args=(table,))
    other.start()
    wait_until_visible(table.with_options(WAITS), messages)
    assert open_table(table.location).scan().to_arrow().to_pylist() == [{"id": 1, "v": 2}]
    other.join()


def test_nobody_waits_for_ever_and_the_rows_stay_committed(tmp_path: Path) -> None:
    table = make(tmp_path / "t", bucket="-2")
    messages = put(table)
    with pytest.raises(RowsNotVisible, match=r"after 0\.01 s.*compacted 1 of their files"):
        wait_until_visible(table.with_options({**WAITS, "visibility-callback.timeout": "10 ms"}), messages)
    assert compact_postponed(table).files == 1


def test_level_zero_is_waited_for_where_deletion_vectors_hide_it(tmp_path: Path) -> None:
    soon = {**WAITS, "visibility-callback.timeout": "1 ms"}
    plain = make(tmp_path / "p", bucket="1")
    wait_until_visible(plain.with_options(soon), put(plain))
    vectors = make(tmp_path / "v", bucket="1", **{"deletion-vectors.enabled": "true"})
    messages = put(vectors)
    with pytest.raises(RowsNotVisible):
        wait_until_visible(vectors.with_options(soon), messages)


def test_without_the_option_nothing_is_waited_for(tmp_path: Path) -> None:
    table = make(tmp_path / "t", bucket="-2")
    wait_until_visible(table, put(table))
