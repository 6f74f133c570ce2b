"""What is special about Avro data files: the schema Java writes, units, maps of any key, unions on top, names."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from support.draws.typed_batches import rows_of
from support.tables.golden_tables import GoldenTable

from paimon_spark.arrow.formats.avro_columns import avro_schema
from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.avro.container import scan_container
from paimon_spark.format.schema import SEQUENCE_NUMBER, SEQUENCE_NUMBER_ID, VALUE_KIND, VALUE_KIND_ID, decode_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

INT = DataType(Root.INT)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)


def fields_of(*types: DataType) -> tuple[DataField, ...]:
    return tuple(DataField(i, f"c{i}", t) for i, t in enumerate(types))


def written(fields: tuple[DataField, ...], *columns: list[Any]) -> bytes:
    arrays = [from_internal(column, field.type) for column, field in zip(columns, fields, strict=True)]
    sink = io.BytesIO()
    writer = open_writer(sink, "avro", fields, WriteSettings())
    writer.write(pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields)))
    writer.close()
    return sink.getvalue()


def stored(schema: Any, records: list[Any]) -> bytes:
    """A file of another writer."""
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(schema), records, codec="deflate")
    return sink.getvalue()


def read(data: bytes, fields: tuple[DataField, ...]) -> list[list[Any]]:
    reader = open_reader(pa.BufferReader(data), "avro", "data-1.avro")
    return rows_of(pa.Table.from_batches([batch for _, batch in reader.read(fields, 100)], arrow_schema(fields)))


def record(*types: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": f"c{i}", "type": t} for i, t in enumerate(types)]}


def test_the_schema_is_the_one_java_writes(tmp_path: Path) -> None:
    """Types, logical types, defaults and record names at every depth (format section 4.6)."""
    table = GoldenTable("java-2.1", "pktypes_avro").unpack(tmp_path)
    path = next(table.glob("bucket-0/*.avro"))
    columns = decode_schema((table / "schema" / "schema-0").read_bytes(), "schema-0").fields
    key = DataField(1, "_KEY_id", INT.with_nullable(False))
    number = DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, False))
    kind = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False))
    ours = avro_schema((key, number, kind, *columns))
    theirs = scan_container(path.read_bytes(), str(path)).schema
    ours, theirs = fastavro.parse_schema(ours), fastavro.parse_schema(theirs)  # both with full names now
    assert json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


def test_names_of_nested_records_do_not_clash() -> None:
    inner = DataType(Root.ROW, fields=(DataField(5, "b_c", DataType(Root.ROW, fields=(DataField(6, "x", INT),))),))
    outer = DataType(Root.ROW, fields=(DataField(7, "c", DataType(Root.ROW, fields=(DataField(8, "y", INT),))),))
    fields = (DataField(0, "a", inner), DataField(1, "a_b", outer))
    assert read(written(fields, [((1,),)], [((2,),)]), fields) == [[[[1]], [[2]]]]


@pytest.mark.parametrize(("root", "digits"), [(Root.TIMESTAMP, 7), (Root.TIMESTAMP_LTZ, 9), (Root.TIME, 4)])
def test_precisions_avro_cannot_hold_are_refused_by_name(root: Root, digits: int) -> None:
    fields = fields_of(INT, DataType(Root.ARRAY, element=DataType(root, precision=digits)))
    with pytest.raises(UnsupportedFeature, match=f"'c1'.*{root}.*{digits}"):
        open_writer(io.BytesIO(), "avro", fields, WriteSettings())


def test_names_avro_does_not_allow_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="unit price"):
        open_writer(io.BytesIO(), "avro", (DataField(0, "unit price", INT),), WriteSettings())


def test_the_unit_of_the_file_counts_and_the_flavour_does_not() -> None:
    kinds = ["timestamp-millis", "local-timestamp-millis", "timestamp-micros", "local-timestamp-micros"]
    schema = record(*({"type": "long", "logicalType": kind} for kind in kinds), "long")
    fields = fields_of(*(DataType(root, precision=p) for root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) for p in (3, 6)))
    row = dict(zip((f"c{i}" for i in range(5)), [-1, 2, -3, 4, 5], strict=True))
    assert read(stored(schema, [row]), fields) == [[-1_000_000, 2_000_000, -1_000_000, 4_000]]
    assert read(stored(schema, [row]), (DataField(4, "c4", DataType(Root.TIMESTAMP, precision=3)),)) == [[5_000_000]]


def test_times_in_microseconds() -> None:
    schema = record({"type": "long", "logicalType": "time-micros"})
    assert read(stored(schema, [{"c0": 1_999}]), fields_of(DataType(Root.TIME))) == [[1]]


def test_a_union_on_top_and_named_types_used_twice() -> None:
    point = {"type": "record", "name": "p", "fields": [{"name": "x", "type": ["null", "int"]}]}
    schema = ["null", record(["null", point], "p")]
    row = DataType(Root.ROW, fields=(DataField(9, "x", INT),))
    data = stored(schema, [{"c0": None, "c1": {"x": 5}}, {"c0": {"x": None}, "c1": {"x": 6}}])
    assert read(data, fields_of(row, row)) == [[None, [5]], [[None], [6]]]
    assert read(data, fields_of(row, row)[1:]) == [[[5]], [[6]]]


def test_decimals_of_any_length_of_bytes() -> None:
    schema = record({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0})
    values = [0, 127, 128, -128, -129, 10**38 - 1, -(10**38) + 1]
    fields = fields_of(DataType(Root.DECIMAL, precision=38, scale=0))
    rows = [{"c0": v.to_bytes(17, "big", signed=True)} for v in values]
    plain = {**schema, "fields": [{"name": "c0", "type": "bytes"}]}
    assert [int(row[0]) for row in read(stored(plain, rows), fields)] == values
    shortest = [{"c0": v.to_bytes((v if v >= 0 else ~v).bit_length() // 8 + 1, "big", signed=True)} for v in values]
    (block,) = fastavro.block_reader(io.BytesIO(written(fields, values)))
    lengths = b"".join(b"\2" + bytes([2 * len(r["c0"])]) + r["c0"] for r in shortest)
    assert block.bytes_.getvalue() == lengths
    with pytest.raises(CorruptFile, match="more than 5 digits"):
        read(stored(plain, rows), fields_of(DataType(Root.DECIMAL, precision=5, scale=0)))


def test_maps_of_other_keys_are_arrays_of_pairs() -> None:
    fields = fields_of(
        DataType(Root.MAP, key=INT, element=STRING), DataType(Root.MULTISET, element=DataType(Root.DATE))
    )
    data = written(fields, [[(1, None), (2, "b")], None, []], [[(-1, 3)], [], None])
    assert read(data, fields) == [[[[1, None], [2, "b"]], [[-1, 3]]], [None, []], [[], None]]
    kinds = [field["type"][1]["logicalType"] for field in scan_container(data, "x").schema["fields"]]
    assert kinds == ["map", "map"]


def test_a_map_column_of_rows_that_is_null_in_all_of_a_file() -> None:
    rows = DataType(Root.ROW, fields=(DataField(90, "v", INT), DataField(91, "t", STRING)))
    fields = fields_of(DataType(Root.MAP, key=INT, element=rows), INT)
    assert read(written(fields, [None, None], [1, 2]), fields) == [[None, 1], [None, 2]]


def test_values_that_are_not_of_the_type_are_damage() -> None:
    for t in (DataType(Root.TINYINT), DataType(Root.BOOLEAN), DataType(Root.ARRAY, element=INT), STRING):
        with pytest.raises(CorruptFile, match=r"'c0'.*data-1.avro"):
            read(stored(record("int"), [{"c0": 1000}]), fields_of(t))


def test_a_record_must_be_on_top() -> None:
    with pytest.raises(CorruptFile, match="no record on top"):
        read(stored("int", [1]), fields_of(INT))
