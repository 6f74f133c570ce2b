"""Random table shapes and rows for the history tests: few keys, many nulls, the values that break codecs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

from pyspark.sql.variant_utils import VariantUtils

SECOND = 10**9
DAY = 86_400 * SECOND

# Type text -> values. Two habits of Java's ORC reader bound them: it does not keep fractions of a second before 1970,
# and takes a batch of 0.0 and -0.0 for one repeated value (so no -0.0 in ORC, see pool).
VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [0, -1, 127, -128],
    "SMALLINT": [0, -1, 32767, -32768],
    "INT": [0, -1, 7, 2**31 - 1, -(2**31)],
    "BIGINT": [0, -1, 7, 2**63 - 1, -(2**63)],
    "FLOAT": [0.0, -0.0, 1.5, float("nan"), float("inf"), -3.25],
    "DOUBLE": [0.0, -0.0, 1e300, float("nan"), float("-inf"), -3.25],
    "DECIMAL(9, 2)": [Decimal("0.00"), Decimal("-1234567.89"), Decimal("0.01")],
    "DECIMAL(18, 4)": [Decimal("0.0000"), Decimal("-12345678901234.5678"), Decimal("1.0000")],
    "DECIMAL(38, 10)": [Decimal("0.0000000000"), Decimal("-1234567890123456789012345678.0123456789")],
    "STRING": ["", "a", "ba", "ba\0", "é", "\U0001f600 longer than the seven bytes inline", "a/b=c", " "],
    "VARCHAR(20)": ["", "x", "exactly seven", "ü"],
    "CHAR(3)": ["abc", "xyz"],
    "BYTES": [b"", b"\0", b"\xff\xfe", b"0123456789"],
    "DATE": [0, 19_700, -1, 2_932_896],
    "TIME(3)": [0, 86_399_999, 45_296_789],
    "TIMESTAMP(3)": [0, 1_700_000_000_123_000_000, 1_000_000],
    "TIMESTAMP(6)": [0, 1_700_000_000_123_456_000, 1_000],
    "TIMESTAMP(9)": [0, 1_700_000_000_123_456_789, 1],
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": [0, 1_700_000_000_123_000_000],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [0, 1_700_000_000_123_456_000],
}
PARQUET_ONLY: dict[str, list[Any]] = {
    "VARIANT": [
        VariantUtils.parse_json(text)
        for text in ('{"a": 1, "b": [1.5, null, {"é": "x"}]}', "null", "[]", "{}", '"a text of some length"', "-1e300")
    ],
}
NESTED: list[tuple[Any, list[Any]]] = [
    ({"type": "ARRAY", "element": "INT"}, [(), (1, None, 3)]),
    ({"type": "MAP", "key": "STRING NOT NULL", "value": "BIGINT"}, [(), (("a", 1), ("b", None))]),
    (
        {
            "type": "ROW",
            "fields": [{"id": 900, "name": "x", "type": "INT"}, {"id": 901, "name": "y", "type": "STRING"}],
        },
        [(None, None), (5, "é")],
    ),
]
KEY_TYPES = ["INT", "BIGINT", "STRING", "DATE", "DECIMAL(9, 2)", "DECIMAL(38, 10)", "TIMESTAMP(6)", "BOOLEAN", "BYTES"]
KEY_TYPES += ["DOUBLE", "SMALLINT", "VARCHAR(20)"]
PARTITION_TYPES = ["INT", "STRING", "DATE", "BOOLEAN", "BIGINT", "TIMESTAMP(3)"]
SEQUENCE_TYPES = ["INT", "BIGINT", "TIMESTAMP(6)", "STRING", "DATE"]
# What Java allows a column to become, each without loss of any value above.
WIDER = {
    "TINYINT": ["SMALLINT", "INT", "BIGINT", "STRING"],
    "SMALLINT": ["INT", "BIGINT", "DOUBLE", "STRING"],
    "INT": ["BIGINT", "DOUBLE", "DECIMAL(38, 10)", "STRING"],
    "BIGINT": ["STRING"],
    "FLOAT": ["DOUBLE"],
    "DECIMAL(9, 2)": ["DECIMAL(18, 4)", "DECIMAL(38, 10)", "STRING"],
    "DECIMAL(18, 4)": ["DECIMAL(38, 10)", "STRING"],
    "BOOLEAN": ["INT", "STRING"],
    "DATE": ["STRING", "TIMESTAMP(3)"],
    "VARCHAR(20)": ["STRING"],
    "CHAR(3)": ["STRING", "VARCHAR(20)"],
    "TIMESTAMP(3)": ["TIMESTAMP(6)", "STRING"],
}
FORMAT_HAS_NOT = {"parquet": set[str](), "orc": {*PARQUET_ONLY}, "avro": {"TIMESTAMP(9)", *PARQUET_ONLY}}


def pool(data_type: str, file_format: str) -> list[Any]:
    """The values of a type in files of a format."""
    values = (VALUES | PARQUET_ONLY)[data_type]
    if file_format == "orc":
        return [v for v in values if not (isinstance(v, float) and v == 0 and math.copysign(1, v) < 0)]
    return values


@dataclass
class Column:
    """A column as the writers of a history see it; type is the text (or object) without NOT NULL."""

    name: str
    type: Any
    values: list[Any]
    nullable: bool = True

    @property
    def full_type(self) -> Any:
        return self.type if self.nullable else f"{self.type} NOT NULL"

    def draw(self, random: Random) -> Any:
        return None if self.nullable and random.random() < 0.2 else random.choice(self.values)


@dataclass
class Shape:
    """What a table is made from, and its columns as schema changes leave them."""

    columns: list[Column]
    keys: list[str]
    partitions: list[str]
    options: dict[str, str]
    made: int = field(default=0)

    @property
    def types(self) -> dict[str, Any]:
        return {c.name: c.full_type for c in self.columns}

    @property
    def fixed(self) -> set[str]:
        """Columns that no schema change may touch."""
        named = (self.options.get(key, "").split(",") for key in ("bucket-key", "sequence.field"))
        return {*self.keys, *self.partitions, *(name for names in named for name in names)}

    def rows(self, random: Random, count: int) -> list[tuple[Any, ...]]:
        return [tuple(c.draw(random) for c in self.columns) for _ in range(count)]

    def new_column(self, random: Random, types: list[str] | None = None, prefix: str = "v") -> Column:
        self.made += 1
        if types is None and random.random() < 0.2:
            data_type, values = random.choice(NESTED)
        else:
            barred = FORMAT_HAS_NOT[self.options["file.format"]]
            data_type = random.choice([t for t in types or [*VALUES, *PARQUET_ONLY] if t not in barred])
            values = pool(data_type, self.options["file.format"])
        return Column(f"{prefix}{self.made}", data_type, values)


def random_shape(random: Random) -> Shape:
    """A table with or without a primary key, partitions, fixed buckets and a sequence field, in any format."""
    shape = Shape([], [], [], {"file.format": random.choice(["parquet", "parquet", "orc", "avro"])})
    with_key = random.random() < 0.65
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        column = shape.new_column(random, PARTITION_TYPES, "p")
        column.values = random.sample(column.values, min(2, len(column.values)))
        shape.columns.append(column)
        shape.partitions.append(column.name)
    if with_key:
        _add_key(shape, random)
    elif random.random() < 0.4:
        column = shape.new_column(random, KEY_TYPES, "b")
        shape.columns.append(column)
        shape.options |= {"bucket-key": column.name, "bucket": str(random.randint(1, 3))}
    for _ in range(random.randint(1, 5)):
        shape.columns.append(shape.new_column(random))
    random.shuffle(shape.columns)
    return shape


def _add_key(shape: Shape, random: Random) -> None:
    for _ in range(random.choice([1, 1, 2, 3])):
        column = shape.new_column(random, KEY_TYPES, "k")
        shape.columns.append(column)
        shape.keys.append(column.name)
    for column in shape.columns:  # the key and the partitions: no nulls
        column.nullable = False
    shape.keys = random.sample([*shape.keys, *shape.partitions], len(shape.keys) + len(shape.partitions))
    shape.options["bucket"] = str(random.randint(1, 3))
    if random.random() < 0.3:
        sequence = [shape.new_column(random, SEQUENCE_TYPES, "s") for _ in range(random.choice([1, 1, 2]))]
        shape.columns += sequence
        shape.options["sequence.field"] = ",".join(c.name for c in sequence)
        if random.random() < 0.4:
            shape.options["sequence.field.sort-order"] = "descending"
    if random.random() < 0.15:
        shape.options["ignore-delete"] = "true"
    if random.random() < 0.15:
        shape.options["data-file.thin-mode"] = "true"
