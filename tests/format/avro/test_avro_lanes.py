"""Avro in lanes: equal to fastavro on random schemas and data, and on damage either an error or what fastavro reads."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.format.avro.container import Container, read_container
from paimon_spark.format.avro.lanes import Decoded, Kind, LaneError, Path, UncoveredSchema, decode_lanes

INT64 = st.one_of(
    st.integers(-70, 70), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 63, 64])
)
PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": INT64,
    "bytes": st.binary(max_size=200),
    "string": st.text(max_size=40),
    "boolean": st.booleans(),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
}


class SchemaMaker:
    """Draws a record schema and knows what its columns hold. Names are unique: Avro wants that of records."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.records = 0
        self.wanted: dict[Path, Kind] = {}
        self.arrays: dict[Path, Any] = {}

    def record(self, path: Path, depth: int) -> dict[str, Any]:
        self.records += 1
        name = f"r{self.records}"
        count = self.draw(st.integers(1, 4))
        fields = [{"name": f"f{i}", "type": self.field((*path, f"f{i}"), depth)} for i in range(count)]
        return {"type": "record", "name": name, "fields": fields}

    def field(self, path: Path, depth: int) -> Any:
        shape = self.draw(
            st.sampled_from(["plain", "plain", "array", "counts", "record"] if depth else ["plain", "array"])
        )
        if shape == "record":
            schema: Any = self.record(path, depth - 1)
        elif shape == "plain":
            schema = self.draw(st.sampled_from(sorted(PRIMITIVES)))
            if schema in ("int", "long", "bytes", "string"):
                self.wanted[path] = Kind.INTEGER if schema in ("int", "long") else Kind.BYTES
        else:
            schema = self.array(path, shape, depth)
        order = self.draw(st.sampled_from(["not null", "null first", "null last"]))
        return {"not null": schema, "null first": ["null", schema], "null last": [schema, "null"]}[order]

    def array(self, path: Path, shape: str, depth: int) -> Any:
        if shape == "counts":
            items: Any = ["null", self.draw(st.sampled_from(["int", "long"]))]
            kind = Kind.COUNTS
        else:
            items = self.draw(st.sampled_from(["string", "long", "double", "bytes", "record"]))
            kind = {"string": Kind.TEXTS, "long": Kind.INTEGERS}.get(items, Kind.OTHERS)
            items = self.record(("inside an array",), 0) if items == "record" else items
            self.wanted.pop(("inside an array",), None)
        schema = {"type": "array", "items": items}
        self.wanted[path], self.arrays[path] = kind, schema
        return schema


@st.composite
def schemas(draw: Any) -> tuple[Any, Mapping[Path, Kind], Mapping[Path, Any]]:
    maker = SchemaMaker(draw)
    schema: Any = maker.record((), 2)
    if draw(st.booleans()):
        schema = ["null", schema]
    wanted = {path: kind for path, kind in maker.wanted.items() if path[0] != "inside an array"}
    return schema, wanted, maker.arrays


def values_of(schema: Any) -> st.SearchStrategy[Any]:
    if isinstance(schema, list):
        other = next(branch for branch in schema if branch != "null")
        return st.one_of(st.none(), values_of(other))
    if isinstance(schema, str):
        return PRIMITIVES[schema]
    if schema["type"] == "array":
        items = schema["items"]
        sizes = st.sampled_from([0, 1, 3, 9, 70]) if isinstance(items, list) else st.integers(0, 4)
        return sizes.flatmap(lambda n: st.lists(values_of(items), min_size=n, max_size=n))
    return st.fixed_dictionaries({f["name"]: values_of(f["type"]) for f in schema["fields"]})


def avro_file(schema: Any, records: Sequence[Any], codec: str, sync_interval: int) -> bytes:
    sink = io.BytesIO()
    fastavro.writer(sink, schema, records, codec=codec, sync_interval=sync_interval)
    return sink.getvalue()


def at_path(record: Any, path: Path) -> Any:
    for name in path:
        record = None if record is None else record[name]
    return record


def column_values(decoded: Decoded, path: Path, kind: Kind, array_schema: Any) -> list[Any]:
    """A column as fastavro would give it."""
    column = decoded.columns.get(path)
    if column is None:
        return [None] * decoded.count
    spans = zip(column.values.tolist(), column.ends.tolist(), column.valid.tolist(), strict=True)
    if kind is Kind.INTEGER:
        return [start if valid else None for start, _, valid in spans]
    if kind is Kind.BYTES:
        return [decoded.buffer[start:end] if valid else None for start, end, valid in spans]
    schema = fastavro.parse_schema(array_schema)
    return [
        fastavro.schemaless_reader(io.BytesIO(decoded.buffer[start:end]), schema, None) if valid else None
        for start, end, valid in spans
    ]


def as_bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@given(st.data())
@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_columns_equal_the_records_of_fastavro(data: st.DataObject) -> None:
    schema, wanted, arrays = data.draw(schemas())
    record = schema[1] if isinstance(schema, list) else schema
    files = []
    for _ in range(data.draw(st.integers(1, 3))):
        records = data.draw(st.lists(values_of(record), max_size=12))
        codec = data.draw(st.sampled_from(["null", "deflate", "zstandard", "snappy"]))
        files.append(avro_file(schema, records, codec, data.draw(st.sampled_from([1, 100, 16000]))))
    expected = [record for file in files for record in fastavro.reader(io.BytesIO(file))]
    together = data.draw(st.sampled_from([1, 2, 5, 100]))
    decoded = decode_lanes((read_container(file, "f") for file in files), wanted, together)
    assert decoded.count == len(expected)
    for path, kind in wanted.items():
        assert column_values(decoded, path, kind, arrays.get(path)) == [as_bytes(at_path(r, path)) for r in expected]


def plain(schema: Any, records: Sequence[Any], sync_interval: int = 16000) -> Container:
    return read_container(avro_file(schema, records, "null", sync_interval), "f")


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": t} for name, t in fields.items()]}


def test_files_of_different_schemas_keep_their_order() -> None:
    old = plain(record(a="int"), [{"a": 1}, {"a": 2}], 1)
    new = plain(record(b=["null", "string"], a="long"), [{"a": 3, "b": "x"}, {"a": 4, "b": None}], 1)
    for together in (1, 2, 3, 100):
        decoded = decode_lanes([old, new, old], {("a",): Kind.INTEGER, ("b",): Kind.BYTES}, together)
        assert decoded.columns["a",].values.tolist() == [1, 2, 3, 4, 1, 2]
        assert decoded.columns["b",].valid.tolist() == [False, False, True, False, False, False]
        spans = decoded.columns["b",]
        assert [decoded.buffer[a:b] for a, b in zip(spans.values, spans.ends, strict=True)] == [
            b"",
            b"",
            b"x",
            *[b""] * 3,
        ]


def test_no_files_and_files_without_records_have_no_rows() -> None:
    assert decode_lanes([], {("a",): Kind.INTEGER}).count == 0
    assert decode_lanes([plain(record(a="int"), [])], {("a",): Kind.INTEGER}).count == 0


def test_arrays_written_in_blocks_with_sizes_are_passed_over() -> None:
    schema = record(a={"type": "array", "items": "long"}, b="int")
    two_blocks = bytes([3, 4, 2, 4, 2, 6, 0, 14])  # -2 items in 2 bytes: 1, 2; then 1 item: 3; end; b = 7
    decoded = decode_lanes([Container(schema, ((1, two_blocks),))], {("a",): Kind.INTEGERS, ("b",): Kind.INTEGER})
    assert decoded.columns["b",].values.tolist() == [7]


@pytest.mark.parametrize(
    "schema",
    [
        record(a={"type": "map", "values": "int"}),
        record(a={"type": "enum", "name": "e", "symbols": ["A"]}),
        record(a={"type": "fixed", "name": "x", "size": 2}),
        record(a=["null", "int", "string"]),
        record(a={"type": "array", "items": record()}),
        record(a=["null", "r"]),
        record(a="string"),
        record(a="unheard of"),
        "long",
        7,
    ],
)
def test_other_schemas_are_left_to_fastavro(schema: Any) -> None:
    if schema == "long":
        assert decode_lanes([Container(schema, ((1, b"\x02"),))], {}).count == 1
        return
    with pytest.raises(UncoveredSchema):
        decode_lanes([Container(schema, ((1, b"\x00"),))], {("a",): Kind.INTEGER})


DAMAGED_SCHEMA = record(
    a="long",
    b=["null", "bytes"],
    c={"type": "array", "items": ["null", "long"]},
    d=["null", {"type": "array", "items": "bytes"}],
    e="double",
)
DAMAGED_RECORDS = [
    {"a": -(2**63), "b": b"x" * 100, "c": [1, None, 300] * 5, "d": [b"", b"abc"], "e": 1.5},
    {"a": 7, "b": None, "c": list(range(60)), "d": None, "e": 0.0},
    {"a": 2**40, "b": b"", "c": [], "d": [], "e": -1.0},
]
DAMAGED_WANTED = {("a",): Kind.INTEGER, ("b",): Kind.BYTES, ("c",): Kind.COUNTS}
DAMAGED_ARRAYS = {("c",): {"type": "array", "items": ["null", "long"]}}


def lane_result(raw: bytes, count: int, together: int = 100) -> dict[Path, list[Any]] | None:
    """The columns, None when the block is refused. Good blocks go before and behind: nothing may leak between lanes."""
    good = plain(DAMAGED_SCHEMA, DAMAGED_RECORDS)
    try:
        decoded = decode_lanes([good, Container(DAMAGED_SCHEMA, ((count, raw),)), good], DAMAGED_WANTED, together)
    except LaneError as error:
        blamed = error.record
    else:
        middle = slice(3, 3 + count)
        return {p: column_values(decoded, p, k, DAMAGED_ARRAYS.get(p))[middle] for p, k in DAMAGED_WANTED.items()}
    assert 3 <= blamed < 3 + count
    return None


def fastavro_result(raw: bytes, count: int) -> dict[Path, list[Any]]:
    schema = fastavro.parse_schema(DAMAGED_SCHEMA)
    stream = io.BytesIO(raw)
    records = [fastavro.schemaless_reader(stream, schema, None) for _ in range(count)]
    assert stream.tell() == len(raw)
    return {path: [at_path(r, path) for r in records] for path in DAMAGED_WANTED}


def test_damaged_blocks_are_refused_or_read_as_fastavro_reads_them() -> None:
    ((count, raw),) = plain(DAMAGED_SCHEMA, DAMAGED_RECORDS).blocks
    assert lane_result(raw, count) == fastavro_result(raw, count)
    for length in range(len(raw)):
        assert lane_result(raw[:length], count) is None
    accepted = 0
    for at in range(len(raw)):
        for value in {raw[at] ^ 1, raw[at] ^ 0x80, 0, 0xFF} - {raw[at]}:
            changed = raw[:at] + bytes([value]) + raw[at + 1 :]
            result = lane_result(changed, count)
            assert result == lane_result(changed, count, 1)
            if result is not None:
                accepted += 1
                assert result == fastavro_result(changed, count)
    assert accepted > len(raw)  # most bytes are content, which has no checksum


def test_a_length_that_overflows_is_refused() -> None:
    schema = record(a="bytes")
    for length in (2**63 - 1, -(2**63), -1, 2**40):
        sink = io.BytesIO()
        fastavro.schemaless_writer(sink, "long", length)
        with pytest.raises(LaneError):
            decode_lanes([Container(schema, ((1, sink.getvalue()),))], {("a",): Kind.BYTES})


def test_an_integer_longer_than_64_bits_is_refused() -> None:
    for raw in (b"\xff" * 11, b"\xff" * 9 + b"\x7f", b"\x80" * 4):
        with pytest.raises(LaneError):
            decode_lanes([Container(record(a="long"), ((1, raw),))], {("a",): Kind.INTEGER})


def test_many_lanes_of_unequal_length() -> None:
    schema = record(a="long", b="string")
    rng = np.random.default_rng(5)
    files, expected = [], []
    for _ in range(40):
        records = [{"a": int(n), "b": str(n)} for n in rng.integers(-(2**62), 2**62, rng.integers(0, 60))]
        files.append(plain(schema, records, int(rng.integers(1, 400))))
        expected += records
    for together in (1, 7, 100, 10_000):
        decoded = decode_lanes(files, {("a",): Kind.INTEGER, ("b",): Kind.BYTES}, together)
        assert decoded.columns["a",].values.tolist() == [r["a"] for r in expected]
        assert column_values(decoded, ("b",), Kind.BYTES, None) == [str(r["b"]).encode() for r in expected]
