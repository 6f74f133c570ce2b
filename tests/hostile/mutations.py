"""Mutants of genuine metadata: what is wrong with each follows from a random number generator alone.

Bytes go wrong anywhere; and values inside of JSON and Avro go wrong so that the file around them is good again, and the
sizes that other files record of it are true: such a mutant gets past the first look.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro

_MARKER = bytes(range(16))  # between blocks of Avro; a random one would make another mutant of the same seed
NAMES: tuple[str, ...] = (
    "..", ".", "", "/", "../../victim.parquet", "../victim.parquet", "/etc/hostname", "a/b", "..\\..\\victim", "\0",
    "%2e%2e", "file:/etc/hostname", "s3://x/y", "LATEST", "snapshot-1", "\udc80", "é" * 300, "main", "nul\n", "~", "$x",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    -1, 0, 1, 2, -2, 2**31 - 1, -(2**31), 2**31, 2**62, 2**63 - 1, -(2**63), 2**64, 10**30, 1 << 20, 4_000_000_000,
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    1.5,
    float("1e308"),
    [],
    {},
    [None],
    [[]],
    {"": None},
    "text",
    "NaN",
    "9" * 30,
)
BYTES: tuple[bytes, ...] = (
    b"",
    b"\0",
    b"\0\0\0\0",
    bytes(12),
    b"\xff" * 20,
    b"\0\0\0\x01" + b"\xff" * 16,
    b"\x7f" * 64,
)
ODD_PLACES = (
    "branch/branch-..", "branch/branch-", "branch/branch-x/schema", "tag/tag-..", "tag/tag-", "consumer/consumer-..",
    "bucket-x", "bucket--9", "dt=../bucket-0", "index",
)  # fmt: skip
HINTS = (
    "-1", "0", "1", "2", "99999999", str(2**63), "9" * 5000, "x", "", " 3\n", "1_0", "\u0661", "0x3", "../1",
)  # fmt: skip
OPTIONS = (
    "bucket", "bucket-key", "bucket-function.type", "file.format", "file.compression", "merge-engine", "sequence.field",
    "data-file.path-directory", "data-file.external-paths", "global-index.external-path", "data-file.prefix", "branch",
    "scan.fallback-branch", "scan.primary-branch", "partition.default-name", "partition.legacy-name", "path",
    "index-file-in-data-file-dir", "deletion-vectors.enabled", "changelog-producer", "file-operation.thread-num",
    "snapshot.num-retained.max", "snapshot.time-retained", "snapshot.expire.limit", "source.split.target-size",
    "source.split.open-file-cost", "record-level.expire-time", "record-level.time-field", "manifest.compression",
    "tag.automatic-creation", "tag.num-retained-max", "num-levels", "target-file-size", "scan.tag-name",
    "fields.x.aggregate-function", "fields.default-aggregate-function", "fields.x.default-value", "rowkind.field",
    "partition.timestamp-formatter", "partition.timestamp-pattern", "partition.expiration-time", "incremental-between",
    "sequence.snapshot-ordering", "row-tracking.enabled", "primary-key", "partition", "consumer-id", "type",
)  # fmt: skip
JSON_FILES = ("schema-", "snapshot-", "tag-", "changelog-", "consumer-", "stat")


def mutate(table: Path, chance: random.Random) -> str:
    """Makes one thing wrong in a table, or a few; what."""
    count = 1 if chance.random() < 0.8 else chance.randint(2, 4)
    return "; ".join(_mutate_once(table, chance) for _ in range(count))


def _mutate_once(table: Path, chance: random.Random) -> str:
    files = _files(table)
    if not files:
        return "nothing left"
    path = _chosen(files, chance)
    kinds: list[Callable[[Path, Path, random.Random], str]] = [_bytes, _shape]
    if path.name.startswith(JSON_FILES):
        kinds += [_json] * 6
    elif path.parent.name == "manifest":
        kinds += [_avro] * 8
    elif path.name in ("LATEST", "EARLIEST"):
        kinds += [_hint] * 2
    did = chance.choice(kinds)(table, path, chance)
    return f"{path.relative_to(table)}: {did}"


def _files(table: Path) -> list[Path]:
    return sorted(path for path in table.rglob("*") if path.is_file() and not path.is_symlink())


def _chosen(files: list[Path], chance: random.Random) -> Path:
    """Mostly metadata: data files are most of the files."""
    wanted = chance.choice(["schema", "snapshot", "snapshot", "manifest", "manifest", "manifest", "other", "any"])
    if wanted == "any":
        return chance.choice(files)
    known = ("schema", "snapshot", "manifest")
    fitting = [
        path
        for path in files
        if (
            path.parent.name == wanted
            if wanted in known
            else path.parent.name not in known and "bucket" not in str(path)
        )
    ]
    return chance.choice(fitting or files)


# ------------------------------------------------------------------------------------------------------------- bytes


def _bytes(table: Path, path: Path, chance: random.Random) -> str:
    data = bytearray(path.read_bytes())
    did = change_bytes(data, table, chance)
    path.write_bytes(data)
    if chance.random() < 0.6:
        fit_sizes(table, path)
        did += ", sizes fit"
    return did


def change_bytes(data: bytearray, table: Path, chance: random.Random) -> str:
    """Makes some bytes wrong; what."""
    at = chance.randrange(len(data) + 1)
    kind = chance.choice(["flip", "set", "insert", "delete", "cut", "splice", "double", "empty"])
    if kind == "flip" and data:
        for _ in range(chance.choice([1, 1, 3, 20])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "set" and data:
        start = min(at, len(data) - 1)
        data[start : start + chance.choice([1, 4, 8])] = chance.choice(
            [b"\0", b"\xff", b"\xff" * 8, b"\x80" * 9 + b"\x01"]
        )
    elif kind == "insert":
        data[at:at] = chance.randbytes(chance.choice([1, 3, 17]))
    elif kind == "delete":
        del data[at : at + chance.choice([1, 4, 33])]
    elif kind == "cut":
        del data[at:]
    elif kind == "splice":
        other = chance.choice(_files(table)).read_bytes()
        start = chance.randrange(len(other) + 1)
        data[at : at + 64] = other[start : start + chance.choice([8, 64, 512])]
    elif kind == "double":
        data += bytes(data)
    else:
        data.clear()
        kind = "empty"
    return f"{kind} at {at}"


def _shape(table: Path, path: Path, chance: random.Random) -> str:
    """Files that are not there, or are something else, or have hostile numbers and names."""
    kind = chance.choice(["gone", "directory", "swap", "far id", "odd name", "foreign"])
    if kind == "gone":
        path.unlink()
    elif kind == "directory":
        path.unlink()
        path.mkdir()
    elif kind == "swap":
        other = chance.choice(_files(table))
        content, theirs = path.read_bytes(), other.read_bytes()
        path.write_bytes(theirs)
        other.write_bytes(content)
        kind += f" with {other.name}"
    elif kind == "far id":
        number = chance.choice([10**6, 2**31, 2**63 - 1, 2**63, 10**25])
        prefix = chance.choice(["snapshot", "schema", "changelog"])
        directory = table / prefix
        directory.mkdir(exist_ok=True)
        source = next(iter(sorted(directory.glob(f"{prefix}-*"))), path)
        (directory / f"{prefix}-{number}").write_bytes(source.read_bytes() if source.is_file() else b"")
        kind += f" {prefix}-{number}"
    elif kind == "odd name":
        made = table / chance.choice(ODD_PLACES)
        made.mkdir(parents=True, exist_ok=True)
        kind += f" {made.relative_to(table)}"
    else:
        path.write_bytes(
            chance.choice([b"PAR1", b"ORC", b"Obj\x01", b"{}", b"[]", b"null", b"\x1f\x8b\x08", b"(\xb5/\xfd"])
        )
    return kind


def _hint(table: Path, path: Path, chance: random.Random) -> str:
    text = chance.choice(HINTS)
    path.write_text(text)
    return f"hint {text[:20]!r}"


# -------------------------------------------------------------------------------------------------------------- JSON


def _json(table: Path, path: Path, chance: random.Random) -> str:
    try:
        value = json.loads(path.read_bytes())
    except ValueError:
        return _bytes(table, path, chance)
    if path.name.startswith("schema-") and isinstance(value, dict) and chance.random() < 0.3:
        return _option(path, value, chance)
    places = list(_places(value))
    if not places:
        return _bytes(table, path, chance)
    holder, key = chance.choice(places)
    old = holder[key]
    kind = chance.choice(["value", "value", "value", "gone", "deep", "long", "twice"])
    if kind == "gone":
        del holder[key]
    elif kind == "deep":
        holder[key] = _nested(chance)
    elif kind == "long":
        holder[key] = [old] * chance.choice([2, 1000])
    elif kind == "twice" and isinstance(holder, list):
        holder.append(old)
    else:
        holder[key] = _other_value(old, chance)
    path.write_bytes(json.dumps(value).encode())
    return f"{key} was {str(old)[:40]!r}, {kind} {str(holder[key])[:40]!r}" if kind != "gone" else f"{key} gone"


def _option(path: Path, schema: dict[str, Any], chance: random.Random) -> str:
    """The table gets an option with a value that nobody meant."""
    options = schema.get("options")
    if not isinstance(options, dict):
        options = schema["options"] = {}
    key = chance.choice(OPTIONS)
    old = options.get(key, "")
    value = _other_value(old if isinstance(old, str) else "", chance)
    options[key] = value if chance.random() < 0.2 or isinstance(value, str) else str(value)
    path.write_bytes(json.dumps(schema).encode())
    return f"option {key} = {str(options[key])[:60]!r}"


def _nested(chance: random.Random) -> Any:
    depth = chance.choice([50, 400])
    value: Any = "INT"
    for _ in range(depth):
        value = chance.choice([[value], {"type": "ARRAY", "element": value}])
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(holder, key) of every value inside of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def _other_value(old: Any, chance: random.Random) -> Any:
    if chance.random() < 0.25:
        return chance.choice(ODD)
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return chance.choice([*NUMBERS, old + 1, old - 1, -old])
    if isinstance(old, bytes):
        return _other_bytes(old, chance)
    if isinstance(old, str):
        types = (
            "INT",
            "STRING NOT NULL",
            "DECIMAL(38, 38)",
            "TIMESTAMP(9)",
            "ARRAY<" * 300 + "INT" + ">" * 300,
            "INT ARRAY" * 50,
        )
        texts = (
            *NAMES,
            *types,
            str(chance.choice(NUMBERS)),
            "999999999 t",
            "true",
            "parquet",
            "99999999999 d",
            old[:-1],
            old * 2,
        )
        return chance.choice(texts)
    return chance.choice(ODD)


# -------------------------------------------------------------------------------------------------------------- Avro


def _avro(table: Path, path: Path, chance: random.Random) -> str:
    data = path.read_bytes()
    try:
        reader = fastavro.reader(io.BytesIO(data))
        schema, records = reader.writer_schema, list(reader)
    except Exception:  # an earlier mutation broke it
        return _bytes(table, path, chance)
    if not isinstance(schema, dict) or not all(isinstance(record, dict) for record in records):
        return _bytes(table, path, chance)
    if not records or chance.random() < 0.1:
        did = _change_schema(schema, chance)
    else:
        did = _change_record(records, chance)
    sink = io.BytesIO()
    try:
        codec = chance.choice(["null", "deflate", "zstandard"])
        fastavro.writer(sink, schema, records, codec=codec, sync_marker=_MARKER)
    except Exception:  # the value does not fit the schema: Avro cannot say it
        return _bytes(table, path, chance)
    path.write_bytes(sink.getvalue())
    fit_sizes(table, path)
    return f"{did}, sizes fit"


def _change_record(records: list[Any], chance: random.Random) -> str:
    kind = chance.choice(["value"] * 8 + ["twice", "gone", "many"])
    index = chance.randrange(len(records))
    if kind == "twice":
        records.append(records[index])
        return f"record {index} twice"
    if kind == "gone":
        del records[index]
        return f"record {index} gone"
    if kind == "many":
        records.extend(records[index : index + 1] * 30)
        return f"record {index} 30 times"
    holder, key = chance.choice(list(_places(records[index])))
    old = holder[key]
    holder[key] = (
        chance.choice(NAMES[:11]) if isinstance(old, str) and chance.random() < 0.5 else _avro_value(old, chance)
    )
    return f"{key} was {str(old)[:30]!r}, is {str(holder[key])[:30]!r}"


def _avro_value(old: Any, chance: random.Random) -> Any:
    """Of the same Avro type, or null."""
    if chance.random() < 0.1:
        return None
    if isinstance(old, bytes):
        return _other_bytes(old, chance)
    if isinstance(old, int):
        return chance.choice([n for n in NUMBERS if -(2**63) <= n < 2**63])
    if isinstance(old, str):
        return chance.choice(NAMES)
    if isinstance(old, list):
        return chance.choice([[], old * 2, old[:1], old * 100])
    if old is None:
        return chance.choice(
            [0, -1, 2**31 - 1, 2**62, "..", "/etc/bucket-0/hostname", b"", b"\xff" * 9, [], [None], ["x"], [".."]]
        )
    return old


def _other_bytes(old: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.4 or not old:
        return chance.choice(BYTES)
    data = bytearray(old)
    for _ in range(chance.choice([1, 1, 4])):
        data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    return bytes(data[: chance.choice([len(data), len(data), chance.randrange(len(data) + 1)])])


def _change_schema(schema: Any, chance: random.Random) -> str:
    fields = schema["fields"]
    field = chance.choice(fields)
    kind = chance.choice(["name", "type", "gone"])
    if kind == "name":
        field["name"] = chance.choice(["_X", "_FILE_NAME", "_VERSION", "a"])
    elif kind == "type":
        field["type"] = chance.choice(
            ["null", "int", "string", ["null", "string"], {"type": "array", "items": "null"}, "double"]
        )
    else:
        fields.remove(field)
    return f"schema {kind}"


# ------------------------------------------------------------------------------------------------------------- sizes


def fit_sizes(table: Path, path: Path) -> None:
    """What lists say of a manifest, and snapshots of a list, is true again."""
    if path.parent.name != "manifest":
        return
    size = path.stat().st_size
    if not path.name.startswith(("manifest-list-", "index-manifest-")):
        for other in sorted(path.parent.glob("manifest-list-*")):
            if other.is_file() and _fit_list(other, path.name, size):
                _fit_snapshots(table, other.name, other.stat().st_size)
    else:
        _fit_snapshots(table, path.name, size)


def _fit_list(path: Path, name: str, size: int) -> bool:
    try:
        reader = fastavro.reader(io.BytesIO(path.read_bytes()))
        schema, records = reader.writer_schema, list(reader)
        named = [record for record in records if record["_FILE_NAME"] == name]
        for record in named:
            record["_FILE_SIZE"] = size
        if named:
            sink = io.BytesIO()
            fastavro.writer(sink, schema, records, sync_marker=_MARKER)
            path.write_bytes(sink.getvalue())
    except Exception:  # it is a mutant itself
        return False
    return bool(named)


def _fit_snapshots(table: Path, name: str, size: int) -> None:
    for path in [*table.rglob("snapshot-*"), *table.rglob("tag-*"), *table.rglob("changelog-*")]:
        try:
            values = json.loads(path.read_bytes())
            kinds = [key for key, value in values.items() if value == name and key.endswith("List")]
            for key in kinds:
                values[f"{key}Size"] = size
            if kinds:
                path.write_bytes(json.dumps(values).encode())
        except (ValueError, AttributeError, OSError):
            continue
