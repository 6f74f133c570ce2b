"""Cases of merge engines as text (cases/*.txt): read and run.

    == What the case shows
    -- where the official system shows the same (or any other remark)
    columns: k INT key, a INT, b STRING
    partial-update.remove-record-on-delete = true
    +I | 1 | 1 | x
    -D @7 | 1 | 1 | null
    => -D | 1 | 1 | null

A line of cells is a row: its kind, its sequence number where it matters (else one more than the row before), then a
value for each column; values are JSON, bare words are texts. ``=>`` lines are the merge of all rows above them, also
what a reader does not see any more: keys whose result is a retraction. ``=> nothing`` says that there is no row, and
``=> error: ...`` that the merge fails with a message that has these words in it. A case goes on after its ``=>`` lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.types import arrow_type
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, Root

CASES = Path(__file__).parent / "cases"
KINDS = ("+I", "-U", "+U", "-D")


@dataclass(frozen=True)
class CaseRow:
    kind: int
    sequence: int
    values: tuple[Any, ...]


@dataclass
class Check:
    """The rows so far, and what their merge is."""

    rows: list[CaseRow]
    expected: list[CaseRow] = field(default_factory=list)
    error: str | None = None


@dataclass
class TextCase:
    title: str
    schema: TableSchema
    checks: list[Check]

    @property
    def options(self) -> TableSettings:
        return TableSettings(self.schema.options)


def load_cases(file: str) -> list[TextCase]:
    """The cases of a file."""
    text = (CASES / file).read_text(encoding="utf-8")
    return [_parse(block) for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]]


def case_array(values: Sequence[Any], data_field: DataField) -> pa.Array:
    """Values as they stand in a case, as a column. Times are texts such as "2024-01-01"."""
    arrow = arrow_type(data_field.type)
    if data_field.type.root in (Root.DATE, Root.TIME, Root.TIMESTAMP, Root.TIMESTAMP_LTZ, Root.DECIMAL):
        return pa.array([None if value is None else str(value) for value in values], pa.string()).cast(arrow)
    return pa.array([_nested(value, arrow) for value in values], arrow)


def _nested(value: Any, arrow: pa.DataType) -> Any:
    """JSON as pyarrow takes it: maps as pairs, bytes from texts."""
    if value is None:
        return None
    if pa.types.is_map(arrow):
        pairs = value.items() if isinstance(value, dict) else value
        return [(_key(key, arrow.key_type), _nested(item, arrow.item_type)) for key, item in pairs]
    if pa.types.is_list(arrow):
        return [_nested(item, arrow.value_type) for item in value]
    if pa.types.is_struct(arrow):
        return {f.name: _nested(item, f.type) for f, item in zip(arrow, value, strict=True)}
    if pa.types.is_binary(arrow):
        return bytes.fromhex(value)
    return value


def _key(key: Any, arrow: pa.DataType) -> Any:
    """A key of a JSON object, which is always a text."""
    return int(key) if pa.types.is_integer(arrow) else _nested(key, arrow)


def _parse(block: str) -> TextCase:
    lines = [line.strip() for line in block.splitlines()]
    title = lines.pop(0)
    columns, options = "", dict[str, str]()
    rows: list[CaseRow] = []
    checks: list[Check] = []
    open_check = False
    for line in lines:
        if not line or line.startswith(("--", "#")):
            continue
        if line.startswith("columns:"):
            columns = line.removeprefix("columns:")
        elif line.startswith("=>"):
            if not open_check:
                checks.append(Check(list(rows)))
            open_check = True
            _add_expected(checks[-1], line.removeprefix("=>").strip())
        elif line[:2] in KINDS:
            open_check = False
            rows.append(parse_row(line, len(rows)))
        else:
            key, value = line.split(" = ", 1)
            options[key.strip()] = value.strip().strip('"')
    return TextCase(title, parse_columns(columns, options), checks)


def _add_expected(check: Check, text: str) -> None:
    if text.startswith("error:"):
        check.error = text.removeprefix("error:").strip()
    elif text != "nothing":
        check.expected.append(parse_row(text, -1))


def parse_row(line: str, sequence: int) -> CaseRow:
    """A line of cells; sequence: the number if it has none."""
    head, *cells = [cell.strip() for cell in line.split("|")]
    kind, *rest = head.split()
    if rest:
        sequence = int(rest[0].removeprefix("@"))
    return CaseRow(KINDS.index(kind), sequence, tuple(_value(cell) for cell in cells))


def _value(cell: str) -> Any:
    try:
        return json.loads(cell)
    except json.JSONDecodeError:
        return cell


def parse_columns(columns: str, options: dict[str, str]) -> TableSchema:
    """The table of a ``columns:`` line."""
    fields, keys = [], []
    for i, text in enumerate(_split(columns)):
        name, type_text = text.split(None, 1)
        if type_text.endswith(" key"):
            type_text = type_text.removesuffix(" key") + " NOT NULL"
            keys.append(name)
        fields.append(DataField(i, name, parse_type(type_text)))
    return TableSchema(0, tuple(fields), len(fields), primary_keys=tuple(keys), options=options)


def _split(text: str) -> Iterator[str]:
    """Parts between commas that stand in no brackets."""
    depth, part = 0, ""
    for char in text:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += char
    if part.strip():
        yield part.strip()
