"""The Avro container: codecs of genuine writers, and damage of every byte."""

from __future__ import annotations

import io
import json
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pytest
import zstandard
from support.draws.format_values import BYTES, damaged, decoded_or_named_error

from paimon_spark.errors import CorruptFile
from paimon_spark.format.avro.container import MAX_BLOCK_BYTES, BlockError, read_container, read_varint, scan_container
from paimon_spark.format.avro.file import read_records, write_records
from paimon_spark.format.avro.limits import LimitError, checked_growth

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}
RECORDS = [{"a": i, "b": "text" * i} for i in range(30)]
CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]


def records_of(data: bytes, where: str) -> list[dict[str, Any]]:
    return list(read_records(data, where))


def container(codec: str, sync_interval: int = 16000) -> bytes:
    sink = io.BytesIO()
    fastavro.writer(sink, SCHEMA, RECORDS, codec=codec, sync_interval=sync_interval)
    return sink.getvalue()


@pytest.mark.parametrize("path", sorted((BYTES / "avro").glob("*.avro")), ids=lambda path: path.name)
def test_genuine_files_of_every_codec(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))["records"]
    split = read_container(path.read_bytes(), path.name)
    assert sum(count for count, _ in split.blocks) == len(expected)
    records = list(read_records(path.read_bytes(), path.name))
    assert [record.get("f_string", record.get("_FILE_NAME")) for record in records] == [
        record.get("f_string", record.get("_FILE_NAME")) for record in expected
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_many_blocks(codec: str) -> None:
    data = container(codec, sync_interval=1)
    assert [count for count, _ in read_container(data, "f").blocks] == [1] * 30
    assert list(read_records(data, "f")) == RECORDS


def test_a_file_without_records() -> None:
    assert list(read_records(write_records([], SCHEMA), "f")) == []


def test_every_damaged_bit_of_a_block_is_noticed() -> None:
    data = write_records(RECORDS, SCHEMA)
    assert list(fastavro.reader(io.BytesIO(data))) == RECORDS
    assert scan_container(data, "f").codec == "zstandard"
    _, start, end = scan_container(data, "f").blocks[0]
    for at in range(start * 8, end * 8):
        flipped = bytearray(data)
        flipped[at // 8] ^= 1 << at % 8
        try:
            assert records_of(bytes(flipped), "f") == RECORDS  # a bit of the frame's header that says nothing
        except CorruptFile:
            continue


@pytest.mark.parametrize("codec", CODECS)
def test_a_cut_file_is_an_error_or_ends_with_a_block(codec: str) -> None:
    data = container(codec, sync_interval=200)
    ends = {data.index(data[-16:]) + 16}
    while max(ends) < len(data):
        ends.add(data.index(data[-16:], max(ends)) + 16)
    for length in range(len(data)):
        records = decoded_or_named_error(records_of, data[:length])
        assert (records is None) == (length not in ends)
        assert records is None or records == RECORDS[: len(records)]


@pytest.mark.parametrize("codec", CODECS)
def test_changed_bytes_never_give_another_error(codec: str) -> None:
    for data in damaged(container(codec)):
        decoded_or_named_error(records_of, data)


@pytest.mark.parametrize("codec", ["snappy", "xz", "bzip2"])
def test_codecs_with_checksums_never_give_other_records(codec: str) -> None:
    data = container(codec)
    start = data.index(data[-16:]) + 16
    for at in range(start, len(data)):
        changed = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        records = decoded_or_named_error(records_of, changed)
        assert records is None or records == RECORDS


def one_block(codec: str, count: int, payload: bytes) -> bytes:
    """A file of one block, put together by hand."""
    head = container("null")
    header = head[: head.index(head[-16:]) + 16].replace(b"\x08null", _avro_bytes(codec.encode()))
    sizes = io.BytesIO()
    fastavro.schemaless_writer(sizes, "long", count)
    return header + sizes.getvalue() + _avro_bytes(payload) + head[-16:]


def _avro_bytes(data: bytes) -> bytes:
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, "bytes", data)
    return sink.getvalue()


def test_a_block_made_by_hand_reads() -> None:
    assert list(read_records(one_block("null", 1, b"\x0e\x02x"), "f")) == [{"a": 7, "b": "x"}]


@pytest.mark.parametrize(
    ("codec", "count", "payload"),
    [
        ("null", 2, b"\x0e\x02x"),
        ("null", 1, b"\x0e\x02xy"),
        ("null", 1, b"\x0e\x04x"),
        ("null", 1, b"\x0e\x01"),
        ("null", 0, b"\x0e\x02x"),
        ("null", -1, b""),
        ("null", 2**62, b"\x0e\x02x"),
        ("null", 1, b"\x0e\x02\xff"),
        ("lz77", 1, b"\x0e\x02x"),
        ("deflate", 1, b""),
        ("zstandard", 1, b"\x28\xb5\x2f\xfd"),
    ],
)
def test_blocks_that_contradict_themselves_are_refused(codec: str, count: int, payload: bytes) -> None:
    with pytest.raises(CorruptFile, match="the-file"):
        list(read_records(one_block(codec, count, payload), "the-file"))


@pytest.mark.parametrize("count", [-1, -64, -65, -(2**62)])
def test_a_negative_number_of_records_is_refused_before_the_block_is_unpacked(count: int) -> None:
    """Manifests are joined by copying their blocks."""
    with pytest.raises(CorruptFile, match=f"the-file as Avro: a block announces {count} records"):
        scan_container(one_block("null", count, b"\x0e\x02x"), "the-file")


def test_a_block_that_would_fill_the_memory_is_refused() -> None:
    stream = zlib.compressobj(wbits=-15)
    bomb = b"".join(stream.compress(bytes(2**20)) for _ in range(MAX_BLOCK_BYTES // 2**20 + 1)) + stream.flush()
    with pytest.raises(CorruptFile, match="the-file"):
        read_container(one_block("deflate", 1, bomb), "the-file")


@pytest.mark.parametrize(
    "schema",
    ['"long"', "[]", "{", '{"type": "record"}', '{"type":"record","name":"r","fields":[{"name":"a","type":"x"}]}'],
)
def test_bad_schemas_are_refused(schema: str) -> None:
    header = b"Obj\x01\x02" + _avro_bytes(b"avro.schema") + _avro_bytes(schema.encode()) + b"\x00" + bytes(16)
    data = header + b"\x02" + _avro_bytes(b"\x0e") + bytes(16)
    with pytest.raises(CorruptFile, match="the-file"):
        list(read_records(data, "the-file"))


def test_how_deep_a_schema_may_be() -> None:
    def nested(levels: int) -> Any:
        return "long" if levels == 0 else {"type": "array", "items": nested(levels - 1)}

    assert checked_growth(nested(200)) > 0
    with pytest.raises(LimitError, match="deeper than 200 levels"):
        checked_growth(nested(201))


@pytest.mark.parametrize("number", [0, -1, 1, 63, 64, -64, -65, 2**31, -(2**63), 2**63 - 1])
def test_integers_of_all_sizes(number: int) -> None:
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, "long", number)
    assert read_varint(b"x" + sink.getvalue(), 1) == (number, 1 + len(sink.getvalue()))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 20])
def test_integers_without_an_end_are_refused(data: bytes) -> None:
    with pytest.raises(BlockError):
        read_varint(data, 0)


@pytest.mark.parametrize("trailing", [b"\x00", zstandard.compress(b"y"), b"\x50\x2a\x4d\x18\x01\x00\x00\x00z"])
@pytest.mark.parametrize("tells_size", [True, False])
def test_what_follows_a_frame_in_its_block_is_refused(trailing: bytes, tells_size: bool) -> None:
    frame = zstandard.ZstdCompressor(write_content_size=tells_size).compress(b"\x0e\x02x")
    assert list(read_records(one_block("zstandard", 1, frame), "f")) == [{"a": 7, "b": "x"}]
    with pytest.raises(CorruptFile, match="f as Avro"):
        read_container(one_block("zstandard", 1, frame + trailing), "f")


@pytest.mark.parametrize("told", [4, 2**20, 2**32])
def test_a_frame_of_another_size_than_it_tells_is_refused(told: int) -> None:
    frame = bytearray(zstandard.ZstdCompressor(write_content_size=False).compress(b"\x0e\x02x"))
    parameters = zstandard.get_frame_parameters(bytes(frame))
    assert parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN
    sized = frame[:4] + bytes([0xE0]) + told.to_bytes(8, "little") + frame[6:]  # a single segment has no window
    assert zstandard.frame_content_size(bytes(sized)) == told
    with pytest.raises(CorruptFile, match="f as Avro"):
        read_container(one_block("zstandard", 1, bytes(sized)), "f")


@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 8190, 8191, 8192, 2**20])
def test_blocks_of_all_lengths(size: int) -> None:
    """Their length is an integer of one, two or more bytes."""
    records = [{"a": 1, "b": "x" * size}, {"a": 2, "b": "y"}]
    sink = io.BytesIO()
    fastavro.writer(sink, SCHEMA, records, codec="null", sync_interval=1)
    assert list(read_records(sink.getvalue(), "f")) == records
