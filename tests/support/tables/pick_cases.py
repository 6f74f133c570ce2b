"""Cases of compaction picks as text (pick_cases/*.txt): read here, run in test_compaction_picks and its neighbours.

    == What the case shows
    -- where the official system shows the same (or any other remark)
    num-sorted-run.compaction-trigger = 3
    runs: 0:1 1:2
    => nothing

``key = value`` is a table option, ``name: words`` an input; both hold until they are given again. ``=>`` lines are what
comes out for the options and inputs above them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from paimon_spark.format.binary_row import decode_arity_row, encode_arity_row
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.types import DataType, Root

CASES = Path(__file__).parent / "pick_cases"
KEY_TYPES = [DataType(Root.INT, nullable=False)]
DAY_MILLIS = 20_758 * 86_400_000  # 2026-11-01


@dataclass
class PickCheck:
    settings: TableSettings
    inputs: dict[str, list[str]]
    expected: list[str] = field(default_factory=list)

    def last(self, name: str, default: str = "") -> str:
        """The input as it was given last."""
        return self.inputs.get(name, [default])[-1]

    def words(self, name: str) -> list[str]:
        return self.last(name).split()


@dataclass
class PickCase:
    title: str
    checks: list[PickCheck]


def load_pick_cases(file: str) -> list[PickCase]:
    """The cases of a file."""
    text = (CASES / file).read_text(encoding="utf-8")
    return [_parse(block) for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]]


def _parse(block: str) -> PickCase:
    title, *lines = [line.strip() for line in block.splitlines()]
    options, inputs, checks = dict[str, str](), dict[str, list[str]](), list[PickCheck]()
    is_open = False
    for line in lines:
        if not line or line.startswith("--"):
            continue
        if line.startswith("=>"):
            if not is_open:
                checks.append(PickCheck(TableSettings(options), {name: list(texts) for name, texts in inputs.items()}))
            checks[-1].expected.append(line.removeprefix("=>").strip())
        elif " = " in line:
            key, value = line.split(" = ", 1)
            options[key] = value
        else:
            name, text = line.split(":", 1)
            inputs.setdefault(name, []).append(text.strip())
        is_open = line.startswith("=>")
    if not checks:
        checks.append(PickCheck(TableSettings(options), inputs))
    return PickCase(title, checks)


# -------------------------------------------------------------------------------------------------------------- files


def a_file(
    name: str,
    size: int = 1,
    level: int = 0,
    keys: tuple[int, int] = (0, 0),
    sequences: tuple[int, int] = (0, 0),
    rows: int = 1,
    deletes: int | None = 0,
    created: int | None = 0,
) -> DataFileMeta:
    """A file of a table whose key is an INT."""
    low, high = (encode_arity_row([key], KEY_TYPES) for key in keys)
    return DataFileMeta(
        name, size, rows, low, high, EMPTY_STATS, EMPTY_STATS, *sequences, 0, level,
        creation_time=created, delete_row_count=deletes,
    )  # fmt: skip


def sized_file(text: str, level: int, number: int) -> DataFileMeta:
    """``size``, ``name=size``, ``size@hh:mm``."""
    name, _, rest = text.rpartition("=")
    size, _, time = rest.partition("@")
    created = None
    if time:
        hours, minutes = time.split(":")
        created = DAY_MILLIS + (int(hours) * 60 + int(minutes)) * 60_000
    return a_file(name or f"#{number}", int(size), level, created=created)


def shown(file: DataFileMeta) -> str:
    """How a file stands in results: its name if it was given one, else its size."""
    return str(file.file_size) if file.file_name.startswith("#") else file.file_name


def ranged_file(text: str, number: int) -> DataFileMeta:
    """``level[first,last]``, its size the number of keys, then ``-n`` for n deletes or ``-?`` for an unknown number."""
    match = re.fullmatch(r"(\d+)\[(-?\d+),(-?\d+)\](?:-(\d+|\?))?", text)
    assert match, text
    first, last = int(match[2]), int(match[3])
    deletes = None if match[4] == "?" else int(match[4] or 0)
    return a_file(f"#{number}", last - first + 1, int(match[1]), (first, last), (number, number), deletes=deletes)


def range_of(file: DataFileMeta) -> str:
    """``level[first,last]`` of a file."""
    first, last = (decode_arity_row(key, KEY_TYPES)[0] for key in (file.min_key, file.max_key))
    return f"{file.level}[{first},{last}]"
