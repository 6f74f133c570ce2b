"""Maps whose keys share columns: what a file holds is read again, whatever the maps, the columns and the damage."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_spark.arrow.formats.file_access import WriteSettings
from paimon_spark.arrow.formats.parquet_file import ParquetReader
from paimon_spark.arrow.formats.parquet_writer import ParquetWriter
from paimon_spark.arrow.formats.shared_maps import SharedColumns, SharedMap
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType

ROWS = st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.text(max_size=2)})
INNER = st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=2).map(lambda found: list(found.items()))
MAP_OF = {
    "STRING": st.none() | st.text(max_size=3),
    "INT NOT NULL": st.integers(-9, 9),
    "TIMESTAMP(9)": st.none() | st.integers(-(2**40), 2**40).map(lambda n: n * 1000),
    "DECIMAL(20, 2)": st.none() | st.integers(-99, 99),
    "ARRAY<ROW<a INT, b STRING>>": st.none() | st.lists(ROWS, max_size=2),
    "MAP<STRING, INT>": st.none() | INNER,
}
KEYS = st.sampled_from(["", "a", "ba", "ba\0", "ä", *(f"k{n}" for n in range(12))])


def map_type(value: str) -> DataType:
    return parse_type(f"MAP<STRING, {value}>")


def written(
    field: DataField, batches: Sequence[pa.RecordBatch], rules: SharedMap, compression: str = "zstd", group: int = 5
) -> bytes:
    sink = io.BytesIO()
    writer = ParquetWriter(
        sink, [field], WriteSettings(compression=compression, row_group_rows=group, shared_maps=(rules,))
    )
    for batch in batches:
        writer.write(batch)
    writer.close()
    return sink.getvalue()


def read(field: DataField, data: bytes, **more: Any) -> dict[int, Any]:
    """The maps by the numbers of their rows."""
    found = {}
    for first, batch in ParquetReader(pa.BufferReader(data), "the file").read([field], 3, **more):
        found |= dict(enumerate(batch.column(0).to_pylist(maps_as_pydicts="strict"), first))
    return found


@pytest.mark.parametrize("value", MAP_OF)
@settings(max_examples=30, deadline=None)
@given(drawn=st.data())
def test_maps_are_read_as_they_were(value: str, drawn: st.DataObject) -> None:
    maps = st.none() | st.dictionaries(KEYS, MAP_OF[value], max_size=8)
    rows = drawn.draw(st.lists(maps, max_size=12))
    most, placement = st.sampled_from([1, 2, 5, 300]), st.sampled_from(["lru", "plain", "sequential"])
    rules = SharedMap("m", drawn.draw(most), drawn.draw(placement))
    field = DataField(1, "m", map_type(value))
    schema = arrow_schema([field])
    given_rows = pa.array([None if row is None else list(row.items()) for row in rows], schema.field(0).type)
    cut = drawn.draw(st.integers(0, len(rows)))
    whole = pa.RecordBatch.from_arrays([given_rows], schema=schema)
    compression = drawn.draw(st.sampled_from(["zstd", "lz4", "none"]))
    data = written(field, [whole.slice(0, cut), whole.slice(cut)], rules, compression)
    wanted = dict(enumerate(given_rows.to_pylist(maps_as_pydicts="strict")))
    assert read(field, data) == wanted
    if len(rows) > 6:
        some = read(field, data, rows=[(1, 3), (6, 7)])
        assert {1, 2, 6} <= some.keys()
        assert some == {number: wanted[number] for number in some}


def test_where_entries_lie() -> None:
    """The first keys have columns of their own; a key whose column another one has in the row lies in the map."""
    field = DataField(1, "m", map_type("INT"))
    rows = pa.array([[("a", 1), ("b", 2)], [("c", 3), ("a", 4)], [("b", 5)]], arrow_schema([field]).field(0).type)
    shared = SharedColumns(SharedMap("m"), field.type.inner, 2)
    stored = shared.stored(rows).to_pylist()
    assert stored == [
        {"__field_mapping": [0, 1], "__col_0": 1, "__col_1": 2, "__overflow": None},
        {"__field_mapping": [0, -1], "__col_0": 4, "__col_1": None, "__overflow": [(2, 3)]},
        {"__field_mapping": [-1, 1], "__col_0": None, "__col_1": 5, "__overflow": None},
    ]
    described = shared.metadata("none")
    assert described["paimon.map.shared-shredding.field-dict"] == '{"a":0,"b":1,"c":2}'
    assert described["paimon.map.shared-shredding.field-columns"] == '{"0":[0],"1":[1]}'
    assert described["paimon.map.shared-shredding.overflow-set"] == "[2]"
    assert described["paimon.map.shared-shredding.max-row-width"] == "2"


@pytest.mark.parametrize(
    ("key", "text"),
    [("version", "2"), ("version", None), ("field-dict", "{"), ("field-dict", None), ("field-dict", '{"a": "x"}'),
     ("field-dict", '[1]'), ("field-dict-original-size", "x"), ("field-dict-compression", "zstd"),
     ("field-dict-compression", "lz4"), ("field-dict-compression", "odd"), ("field-dict", '{"a": -5}'),
     ("field-dict", '{"a": 999999999999}'), ("field-dict", "[" * 5000), ("field-dict-original-size", "9" * 14),
     ("field-dict-original-size", "-5")],
)  # fmt: skip
def test_damaged_metadata_are_named(key: str, text: str | None) -> None:
    field = DataField(1, "m", map_type("INT"))
    schema = arrow_schema([field])
    batch = pa.RecordBatch.from_arrays([pa.array([[("a", 1)]], schema.field(0).type)], schema=schema)
    table = pq.read_table(pa.BufferReader(written(field, [batch], SharedMap("m"), "none")))
    known = dict(table.schema.field(0).metadata)
    name = f"paimon.map.shared-shredding.{key}".encode()
    known.pop(name)
    if text is not None:
        known[name] = text.encode()
    sink = io.BytesIO()
    pq.write_table(table.cast(pa.schema([table.schema.field(0).with_metadata(known)])), sink)
    kind = UnsupportedFeature if key == "version" else CorruptFile
    with pytest.raises(kind, match=r"reading column 'm' of the file"):
        read(field, sink.getvalue())
