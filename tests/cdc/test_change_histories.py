"""Random histories of a table, written as messages of each format, decoded and written: the rows at the end.

`PAIMON_CDC_HISTORIES` says how many histories of each format.
"""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.change_messages.batches import cut_batches
from support.change_messages.encoders import ENCODERS
from support.change_messages.histories import FIELDS, TYPES, Row, draw_history, final_rows
from support.long_runs import tries

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.cdc.batches.decoding import ROW_KIND, Decoding
from paimon_spark.cdc.batches.rows import decode_batches
from paimon_spark.format.row_kind import KIND_TEXTS
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

HISTORIES = tries("PAIMON_CDC_HISTORIES", ci=12, long=300)


@pytest.mark.parametrize("written", ENCODERS)
def test_decoded_histories_replayed_in_plain_python(written: str) -> None:
    """Without a table: a dictionary, changed row by row, and each row against the model."""
    format_name, encode = ENCODERS[written]
    decoding = Decoding(format_name, FIELDS, keys=("id",))
    for seed in range(HISTORIES):
        draws = random.Random(seed)
        changes = draw_history(draws)
        state: dict[int, Row] = {}
        for batch in decode_batches(cut_batches(list(encode(changes, draws)), draws), decoding):
            for row in batch.to_pylist():
                values = {name: row[name] for name in TYPES}
                if row[ROW_KIND] in ("-U", "-D"):
                    assert state.pop(row["id"]) == values, (written, seed)
                else:
                    state[row["id"]] = values
        assert [state[key] for key in sorted(state)] == final_rows(changes), (written, seed)


@pytest.mark.parametrize("written", ENCODERS)
def test_synchronised_histories_equal_a_replay(written: str, tmp_path: Path) -> None:
    """Each batch is a commit to a key table; what a reader sees at the end is the state of the database."""
    format_name, encode = ENCODERS[written]
    decoding = Decoding(format_name, FIELDS, keys=("id",))
    for seed in range(HISTORIES):
        draws = random.Random(1000 + seed)
        changes = draw_history(draws)
        table = new_table(tmp_path / f"{written}-{seed}", draws)
        for batch in decode_batches(cut_batches(list(encode(changes, draws)), draws), decoding):
            write(table, batch)
        found = open_table(table.location).scan().to_arrow().sort_by("id").to_pylist()
        assert found == final_rows(changes), (written, seed)


def new_table(path: Path, draws: random.Random) -> Table:
    options = {"bucket": draws.choice(("1", "2"))}
    create_table(str(path), new_schema(arrow_schema(FIELDS), ["id"], (), options))
    return open_table(str(path))


def write(table: Table, batch: pa.RecordBatch) -> None:
    user = str(uuid.uuid4())
    task = TableWrite(table, user)
    kinds = np.array([KIND_TEXTS.index(text) for text in batch.column(ROW_KIND).to_pylist()], np.int8)
    schema = arrow_schema(table.schema.fields)
    rows = pa.RecordBatch.from_arrays(
        [batch.column(name).cast(schema.field(name).type) for name in TYPES], schema=schema
    )
    task.write(rows, kinds)
    TableCommit(table, user).append(task.finish())
