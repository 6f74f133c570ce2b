"""The genuine tables of tests/golden as values that compare with what we read (encodings: golden/INDEX.md).

Values come out as in comparing.py.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from paimon_spark.format.types import DataType, Root
from support.oracles.comparing import Row, comparable_rows
from support.paths import GOLDEN

# Tables that we do not read: name -> the word of the feature the refusal names.
REFUSED: dict[str, str] = {}


def of_another_format(table: Path) -> Path:
    """Makes the golden table fmt_row one whose data files no release here reads."""
    schema = table / "schema" / "schema-0"
    text = schema.read_text()
    assert '"row"' in text
    schema.write_text(text.replace('"row"', '"lance"'))
    return table


@dataclass(frozen=True)
class GoldenTable:
    """One table made by a genuine writer: its archive and what the genuine reader returns."""

    writer: str
    name: str

    def __str__(self) -> str:
        return f"{self.writer}/{self.name}"

    def expectation(self) -> dict[str, Any]:
        text = (GOLDEN / "tables" / self.writer / f"{self.name}.json").read_text()
        return json.loads(text)  # type: ignore[no-any-return]  # the JSON's own shape

    def unpack(self, target: Path) -> Path:
        """The table directory, unpacked under target."""
        with tarfile.open(GOLDEN / "tables" / self.writer / f"{self.name}.tar.gz") as archive:
            archive.extractall(target, filter="data")
        (table,) = [path for path in target.iterdir() if path.is_dir()]
        return table


def unpack_with_geometry(target: Path) -> Path:
    """The golden table of vectors with a schema that calls its column `e` a GEOMETRY, which cannot be read."""
    path = GoldenTable("java-2.1", "vector").unpack(target)
    schema = path / "schema" / "schema-0"
    made = json.loads(schema.read_text())
    made["fields"][1]["type"] = "GEOMETRY"
    schema.write_text(json.dumps(made))
    return path


def golden_tables() -> list[GoldenTable]:
    return [GoldenTable(p.parent.name, p.stem) for p in sorted((GOLDEN / "tables").glob("*/*.json"))]


def readable_tables() -> list[GoldenTable]:
    return [table for table in golden_tables() if table.name not in REFUSED]


def expected_rows(rows: Sequence[Any], types: Sequence[DataType]) -> Counter[Row]:
    """The rows of an expectation file, ``[kind, [values]]`` each, as a multiset; +I or +U says nothing in a read."""
    return comparable_rows(([_parse(v, t) for v, t in zip(row, types, strict=True)] for _, row in rows), types)


def _parse(value: Any, t: DataType) -> Any:
    if value is None:
        return None
    if t.root in (Root.FLOAT, Root.DOUBLE):
        return float(value)
    if t.root is Root.DECIMAL:
        return Decimal(value)
    if t.root in (Root.BINARY, Root.VARBINARY, Root.BLOB):
        return bytes.fromhex(value.removeprefix("0x"))
    if t.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ):
        return parse_nanos(value)
    if t.root in (Root.ARRAY, Root.VECTOR):
        return [_parse(item, t.inner) for item in value]
    if t.root is Root.MAP:
        return [(_parse(k, t.key_type), _parse(v, t.inner)) for k, v in value["map"]]
    if t.root is Root.MULTISET:
        return [(_parse(k, t.inner), count) for k, count in value["map"]]
    if t.root is Root.ROW:
        return [_parse(item, f.type) for item, f in zip(value, t.fields, strict=True)]
    return value


def parse_nanos(text: str) -> int:
    """Nanoseconds since the epoch of an ISO local date-time of any year and up to nine digits of fraction."""
    seconds, _, fraction = text.partition(".")
    return int(np.datetime64(seconds, "s").astype(np.int64)) * 10**9 + int(fraction.ljust(9, "0") or 0)
