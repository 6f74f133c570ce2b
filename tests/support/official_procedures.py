"""The procedures of the official system as facts: tests/procedures/call/official_procedures.txt."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pyarrow as pa

from support.paths import ROOT

_FILE = ROOT / "tests" / "procedures" / "call" / "official_procedures.txt"
_ARROW = {"S": pa.string(), "L": pa.int64(), "I": pa.int32(), "B": pa.bool_()}


@dataclass(frozen=True)
class OfficialArgument:
    """An argument; type: S, L, I, B or MAP<S,S>; default: as the file has it, or None."""

    name: str
    type: str
    required: bool
    default: str | None


@dataclass(frozen=True)
class OfficialProcedure:
    name: str
    arguments: tuple[OfficialArgument, ...]
    columns: pa.Schema


@functools.cache
def official_procedures() -> dict[str, OfficialProcedure]:
    lines = [line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {found.name: found for found in map(_procedure, lines)}


def _procedure(line: str) -> OfficialProcedure:
    name, arguments, columns = line.split(" | ")
    return OfficialProcedure(
        name, tuple(map(_argument, arguments.split(", "))), pa.schema(map(_column, columns.split(", ")))
    )


def _argument(text: str) -> OfficialArgument:
    found = re.fullmatch(r"(\w+) ([\w<>,]+)(!?)(?: \('?(.+?)'?\))?", text)
    assert found is not None, text
    return OfficialArgument(found[1], found[2], bool(found[3]), found[4])


def _column(text: str) -> pa.Field:
    name, kind = text.split(" ")
    return pa.field(name, _ARROW[kind.rstrip("!")], nullable=not kind.endswith("!"))
