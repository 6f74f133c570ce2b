"""Small files that would become large: each ends with a named error, in a process that may use little memory."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import resource
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
import zstandard
from pyroaring import BitMap
from support.long_runs import LONG
from support.paths import GOLDEN
from support.tables.golden_tables import GoldenTable

from paimon_spark import limits
from paimon_spark.arrow.formats.orc_footer import decompress
from paimon_spark.errors import PaimonError
from paimon_spark.format.avro.schemas import MANIFEST
from paimon_spark.format.deletion_vector import MAGIC_32, MAGIC_64, decode_vector, deleted_positions
from paimon_spark.format.manifests.codec import decode_manifest, decode_manifest_list
from paimon_spark.format.manifests.columns import decode_manifests
from paimon_spark.format.manifests.index_manifest import decode_index_manifest
from paimon_spark.format.schema import decode_schema
from paimon_spark.format.snapshot import decode_snapshot, decode_tag
from paimon_spark.tables.open import open_table

MIB = 2**20
SPARE = 3 * 2**30
SYNC = bytes(16)


def in_little_memory(action: Callable[[], object]) -> str:
    """The error of an action, in a process that gets little more memory than it has, and which must not die."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_limited, args=(action, sender))
    child.start()
    sender.close()
    try:
        told = str(receiver.recv())
    except EOFError:
        told = "the process died"
    child.join()
    return told


def assert_told(told: str, beginning: str, word: str) -> None:
    assert (told[: len(beginning)], word in told) == (beginning, True), told


def _limited(action: Callable[[], object], sender: Any) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, used + SPARE))
    try:
        sender.send(f"no error: {str(action())[:200]}")
    except PaimonError as error:
        sender.send(f"{type(error).__name__}: {error}")
    except BaseException as error:
        sender.send(f"!{error!r:.300}")


def varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def container(schema: Any, blocks: list[tuple[int, bytes]], codec: str = "null") -> bytes:
    """An Avro file of blocks (announced count, bytes as stored), made by hand."""
    head = json.dumps(schema) if isinstance(schema, dict | list | str) else schema.decode()
    meta = b"".join(varint(len(x)) + x for x in (b"avro.schema", head.encode(), b"avro.codec", codec.encode()))
    out = bytearray(b"Obj\x01" + varint(2) + meta + b"\0" + SYNC)
    for count, payload in blocks:
        out += varint(count) + varint(len(payload)) + payload + SYNC
    return bytes(out)


def zeros(size: int) -> bytes:
    """A zstandard frame of so many zero bytes."""
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    piece = bytes(MIB)
    return b"".join([*(compressor.compress(piece) for _ in range(size // MIB)), compressor.flush()])


def deflated(size: int) -> bytes:
    compressor = zlib.compressobj(1, zlib.DEFLATED, -15)
    piece = bytes(MIB)
    return b"".join([*(compressor.compress(piece) for _ in range(size // MIB)), compressor.flush()])


def genuine_record(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(schema, one record) of a genuine file."""
    folder = GOLDEN / "bytes" / "avro"
    path = sorted(path for path in folder.glob("*.avro") if kind in path.name)[-1]
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    return reader.writer_schema, next(iter(reader))  # type: ignore[return-value]  # a record


def raw_of(schema: Any, record: Any) -> bytes:
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, schema, record)
    return sink.getvalue()


def many_records(kind: str, records: int, a_block: int = 100_000) -> bytes:
    """A good file of the same record again and again."""
    schema, record = genuine_record(kind)
    pack = zstandard.ZstdCompressor(level=1).compress
    block = pack(raw_of(schema, record) * a_block)
    return container(schema, [(a_block, block)] * (records // a_block), "zstandard")


def nested_records(depth: int) -> dict[str, Any]:
    inner: Any = "boolean"
    for level in range(depth):
        inner = {"type": "record", "name": f"r{level}", "fields": [{"name": "x", "type": inner}]}
    return {"type": "record", "name": "top", "fields": [{"name": "a", "type": {"type": "array", "items": inner}}]}


def field_of(avro_type: Any) -> dict[str, Any]:
    return {"type": "record", "name": "top", "fields": [{"name": "_FILE_NAME", "type": avro_type}]}


ARRAY_OF_NULLS = field_of({"type": "array", "items": "null"})
LINKED = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
EMPTY = {"type": "record", "name": "E", "fields": []}

AVRO: dict[str, tuple[Callable[[], bytes], str]] = {
    "4 GiB in 40 blocks of zstandard": (
        lambda: container(MANIFEST, [(1, zeros(100 * MIB))] * 40, "zstandard"), "to more than"),
    "270 MiB in one block of zstandard": (
        lambda: container(MANIFEST, [(1, zeros(270 * MIB))], "zstandard"), "to more than"),
    "270 MiB in one block of deflate": (
        lambda: container(MANIFEST, [(1, deflated(270 * MIB))], "deflate"), "does not end with its block"),
    "snappy that announces 4 GiB": (
        lambda: container(MANIFEST, [(1, b"\xff\xff\xff\xff\x0f" + bytes(9))], "snappy"), "decompresses to more than"),
    "2**60 records": (lambda: container(MANIFEST, [(2**60, b"\0")]), "records are announced, more than 1048576"),
    "-1 records": (lambda: container(MANIFEST, [(-1, b"\0")]), "a block announces -1 records"),
    "2**40 empty records": (lambda: container(EMPTY, [(2**40, b"")]), "records are announced"),
    "140,000 blocks": (lambda: container(MANIFEST, [(0, b"")] * 140_000), "more than 131072 blocks"),
    "2**40 nulls in an array": (
        lambda: container(ARRAY_OF_NULLS, [(1, varint(2**40) + b"\0")]), "items that take no bytes"),
    "2**40 empty records in a map": (
        lambda: container(field_of({"type": "array", "items": EMPTY}), [(1, varint(2**40) + b"\0")]),
        "items that take no bytes"),
    "2**60 texts in an array": (
        lambda: container(field_of({"type": "array", "items": "string"}), [(1, varint(2**60) + b"\0")]), "as Avro"),
    "a text of 2**60 bytes": (lambda: container(field_of("string"), [(1, varint(2**60))]), "as Avro"),
    "a text of -5 bytes": (lambda: container(field_of("string"), [(1, varint(-5))]), "as Avro"),
    "a type that holds itself": (lambda: container(LINKED, [(1, b"\x02" * (4 * MIB) + b"\0")]), "holds itself"),
    "a type that is not defined": (lambda: container(field_of("Other"), [(1, b"\0")]), "names a type 'Other'"),
    "records of records of records": (
        lambda: container(nested_records(60), [(1, varint(300_000) + b"\1" * 300_000 + b"\0")]),
        "may become too many values|more than 262144 items"),
    "a schema 10,000 deep": (
        lambda: container(b'{"type":' * 10_000 + b'"int"' + b"}" * 10_000, []), "recursion|nested deeper than"),
    "a schema of records 500 deep": (lambda: container(nested_records(250), []), "nested deeper than 300"),
    "a schema of 10 million branches": (
        lambda: container(b"[" + b'"int",' * 10**7 + b'"int"]', []), "holds more than 2097152 values"),
}  # fmt: skip
READERS: dict[str, Callable[[bytes, str], object]] = {
    "manifest columns": lambda data, where: decode_manifests([(where, data)]),
    "manifest": decode_manifest,
    "manifest list": decode_manifest_list,
    "index manifest": decode_index_manifest,
}


@pytest.mark.parametrize(("make", "said"), AVRO.values(), ids=AVRO.keys())
def test_avro(make: Callable[[], bytes], said: str) -> None:
    readers = (
        1 if said in ("to more than", "does not end with its block") else 4
    )  # which take long, and are unpacked by all in one way
    data = make()
    told = [in_little_memory(lambda read=read: read(data, "the-file")) for read in list(READERS.values())[:readers]]
    assert all(text.startswith("CorruptFile: ") and "the-file" in text for text in told), told
    assert any(word in text for text in told for word in said.split("|")), told


@pytest.mark.parametrize(
    ("kind", "reader"), [("2.1.manifest.", "manifest columns"), ("2.1.manifest-list-d", "manifest list")]
)
def test_lists_of_ten_million_entries(kind: str, reader: str) -> None:
    """Each is a genuine one; together they are some 100 kB as they are stored."""
    data = many_records(kind, 10_000_000)
    told = in_little_memory(lambda: READERS[reader](data, "the-file"))
    assert_told(told, "CorruptFile: cannot read the-file", "10000000 records are announced")


def test_an_index_manifest_of_millions_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """In records of 100,000 each, as one could be in a very large table. CI has less patience, and a lower limit."""
    monkeypatch.setattr(limits, "MAX_ITEMS", limits.MAX_ITEMS if LONG else 150_000)
    schema, record = genuine_record("2.1.index-manifest-dv32")
    record["_DELETIONS_VECTORS_RANGES"] = record["_DELETIONS_VECTORS_RANGES"][:1] * 100_000
    data = container(schema, [(1, zstandard.compress(raw_of(schema, record), 1))] * 100, "zstandard")
    told = in_little_memory(lambda: decode_index_manifest(data, "the-file"))
    assert_told(told, "CorruptFile: cannot read the-file", f"more than {limits.MAX_ITEMS} items")


@pytest.mark.parametrize("count", [1, 20_000])
def test_what_genuine_tables_may_hold_is_read(count: int) -> None:
    """The limits refuse no good file: in blocks as writers make them, and in one block of many records."""
    schema, record = genuine_record("2.1.manifest.")
    blocks = [(count, zstandard.compress(raw_of(schema, record) * count))]
    assert len(decode_manifests([("the-file", container(schema, blocks, "zstandard"))])) == count


# -------------------------------------------------------------------------------------------------------------- JSON


def snapshot(**values: str) -> bytes:
    """The JSON text of a genuine snapshot, with some values as they are given."""
    table = GOLDEN / "tables" / "java-2.1" / "pk_dedup.tar.gz"
    with tarfile.open(table) as archive:
        name = next(name for name in archive.getnames() if name.endswith("/snapshot-1"))
        member = archive.extractfile(name)
        assert member is not None
        given = json.loads(member.read())
    texts = {key: json.dumps(value) for key, value in given.items()} | values
    return ("{" + ",".join(f'"{key}":{text}' for key, text in texts.items()) + "}").encode()


def schema(column_type: str, options: str = "{}") -> bytes:
    head = '{"version":3,"id":0,"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"timeMillis":0,"fields":'
    return f'{head}[{{"id":0,"name":"a","type":{column_type}}}],"options":{options}}}'.encode()


def arrays(depth: int) -> bytes:
    return schema('{"type":"ARRAY","element":' * depth + '"INT"' + "}" * depth)


DEEP = 10_000
JSON: dict[str, tuple[Callable[[], object], str]] = {
    "a schema nested 10,000 deep": (
        lambda: decode_schema(arrays(10_000), "s"), "it is not a JSON text"),
    "a schema nested 400 deep": (
        lambda: decode_schema(arrays(400), "s"), "nested deeper than 300"),
    "a schema nested 100 deep": (
        lambda: decode_schema(arrays(100), "s"), "nested deeper than 64"),
    "ARRAY<ARRAY<": (
        lambda: decode_schema(schema('"' + "ARRAY<" * DEEP + "INT" + ">" * DEEP + '"'), "s"), "nested deeper than 64"),
    "INT ARRAY ARRAY": (lambda: decode_schema(schema('"INT' + " ARRAY" * DEEP + '"'), "s"), "nested deeper than 64"),
    "9 million options": (
        lambda: decode_schema(schema('"INT"', "{" + ",".join(['"":""'] * 9 * 10**6) + "}"), "s"),
        "more than 2097152 values"),
    "a schema of 100 MiB": (
        lambda: decode_schema(schema('"INT"', '{"a":"' + "x" * 100 * MIB + '"}'), "s"), "larger than 67108864"),
    "10 million properties": (
        lambda: decode_snapshot(snapshot(properties="[" + "0," * 10**7 + "0]"), "s"), "more than 2097152 values"),
    "a fraction of a billion digits": (
        lambda: decode_snapshot(snapshot(properties='{"x":1e999999999}'), "s"), "1e999999999 is out of range"),
    "a retention of 10**100000 seconds": (
        lambda: decode_tag(snapshot(tagTimeRetained="1e100000"), "s"), "1e100000 is out of range"),
    "an integer of 5,000 digits": (lambda: decode_snapshot(snapshot(id="9" * 5000), "s"), "Exceeds the limit"),
    "an integer of 100 digits": (lambda: decode_snapshot(snapshot(id="9" * 100), "s"), "'id' is 9999999999"),
    "NaN": (lambda: decode_snapshot(snapshot(id="NaN"), "s"), "NaN is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("read", "said"), JSON.values(), ids=JSON.keys())
def test_json(read: Callable[[], object], said: str) -> None:
    told = in_little_memory(read)
    assert_told(told, "CorruptFile: cannot read s: ", said)


# ---------------------------------------------------------------------------------------------------- streams of ORC

ORC_CHUNKS: dict[str, tuple[int, Callable[[], bytes]]] = {
    "270 MiB in a chunk of zlib": (1, lambda: deflated(270 * MIB)),
    "270 MiB in a chunk of zstandard": (5, lambda: zeros(270 * MIB)),
    "snappy that announces 4 GiB": (2, lambda: b"\xff\xff\xff\xff\x0f" + bytes(9)),
    "510 MiB of a run of lz4": (4, lambda: b"\x1f\0\1\0" + b"\xff" * 2 * MIB + b"\0"),
}


@pytest.mark.parametrize(("codec", "make"), ORC_CHUNKS.values(), ids=ORC_CHUNKS.keys())
def test_chunks_of_orc(codec: int, make: Callable[[], bytes]) -> None:
    """Its footer, and the times in its stripes, are unpacked here and not by Arrow."""
    chunk = make()
    head = (min(len(chunk), 2**23 - 1) << 1).to_bytes(3, "little")
    told = in_little_memory(lambda: decompress(head + chunk[: 2**23 - 1], codec))
    assert "a compressed chunk is unpacked to" in told, told


# ------------------------------------------------------------------------------------------------- bitmaps and files


def vector(magic: bytes, bitmap: bytes) -> bytes:
    data = magic + bitmap
    return struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def test_a_vector_that_deletes_billions_of_rows() -> None:
    """A few hundred kB name each of 2**32 rows."""
    everything = BitMap()
    everything.add_range(0, 2**32)
    everything.run_optimize()
    high = struct.pack("<q", 1) + struct.pack("<i", 0) + everything.serialize()
    for entry in (
        vector(MAGIC_32.to_bytes(4, "big"), everything.serialize()),
        vector(MAGIC_64.to_bytes(4, "little"), high),
    ):
        told = in_little_memory(lambda entry=entry: deleted_positions(decode_vector(entry, "of a file")))
        assert told.startswith("CorruptFile: cannot read the deletion vector of a file: it deletes 4294967296 rows"), (
            told
        )


def test_a_vector_that_announces_billions_of_bitmaps() -> None:
    entry = vector(MAGIC_64.to_bytes(4, "little"), struct.pack("<q", 2**62) + bytes(64))
    told = in_little_memory(lambda: decode_vector(entry, "of a file"))
    assert told.startswith("CorruptFile: cannot read the deletion vector of a file"), told


@pytest.mark.parametrize("place", ["schema/schema-0", "snapshot/snapshot-7", "snapshot/LATEST"])
def test_files_of_a_terabyte(place: str, tmp_path: Path) -> None:
    """A hole takes no room on the disk."""
    table = GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)
    os.truncate(table / place, 2**40)
    (table / "snapshot" / "EARLIEST").unlink()
    told = in_little_memory(lambda: open_table(str(table)).scan().plan())
    assert told.startswith(f"CorruptFile: cannot read {table / place}: it has 1099511627776 bytes"), told


@pytest.mark.parametrize("place", ["schema/schema-0", "snapshot/snapshot-7", "manifest", "bucket-0"])
def test_pipes_and_devices(place: str, tmp_path: Path) -> None:
    """A pipe would never be opened, /dev/zero never end."""
    table = GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)
    for path in [table / place] if (table / place).is_file() else list((table / place).iterdir()):
        path.unlink()
        if "schema" in place:
            path.symlink_to("/dev/zero")
        else:
            os.mkfifo(path)
    told = in_little_memory(lambda: open_table(str(table)).scan().to_arrow())
    assert_told(told, f"CorruptFile: cannot read {table / place}", "no regular file")
