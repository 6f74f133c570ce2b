"""The steps that decode one Avro schema in lanes (see ``lanes``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Path = tuple[str, ...]

_SIZES = {"boolean": 1, "float": 4, "double": 8}


class Kind(Enum):
    """What a column holds. Arrays are kept as their encoded bytes."""

    INTEGER = "an integer"
    BYTES = "the bytes of a text or binary value"
    TEXTS = "an array of texts"
    INTEGERS = "an array of integers"
    COUNTS = "an array of integers and nulls, null being the first branch"
    OTHERS = "any other array"


class UncoveredSchema(Exception):
    """The schema has a construct that lanes do not decode. Readers catch it and decode record by record instead."""


@dataclass(frozen=True)
class IntegerStep:
    path: Path | None


@dataclass(frozen=True)
class BytesStep:
    path: Path | None


@dataclass(frozen=True)
class FixedStep:
    size: int


@dataclass(frozen=True)
class UnionStep:
    null_branch: int
    body: tuple[Step, ...]


@dataclass(frozen=True)
class ArrayStep:
    path: Path | None
    items: tuple[Step, ...]
    kind: Kind


Step = IntegerStep | BytesStep | FixedStep | UnionStep | ArrayStep


def plan_steps(schema: Any, wanted: Mapping[Path, Kind]) -> tuple[Step, ...]:
    """The steps that decode one value of the schema. Steps of wanted paths carry the path, the others None.

    Raises:
        UncoveredSchema: a construct that lanes do not decode, another kind at a wanted path, or not a schema.
    """
    try:
        return _Planner(wanted).steps(schema, ())
    except (KeyError, TypeError, RecursionError):
        raise UncoveredSchema from None


@dataclass
class _Planner:
    wanted: Mapping[Path, Kind]
    named: dict[str, Any] = field(default_factory=dict)
    open_names: set[str] = field(default_factory=set)

    def steps(self, schema: Any, path: Path | None) -> tuple[Step, ...]:
        """path is None inside arrays, where nothing is kept."""
        if isinstance(schema, list):
            others = [branch for branch in schema if branch != "null"]
            if len(schema) != 2 or len(others) != 1:
                raise UncoveredSchema
            return (UnionStep(schema.index("null"), self.steps(others[0], path)),)
        if isinstance(schema, dict):
            return self.complex_steps(schema, path)
        if schema in ("int", "long"):
            return (IntegerStep(self.kept(path, Kind.INTEGER)),)
        if schema in ("bytes", "string"):
            return (BytesStep(self.kept(path, Kind.BYTES)),)
        if schema in _SIZES:
            return (FixedStep(_SIZES[schema]),)
        if schema in self.named and schema not in self.open_names:
            return self.steps(self.named[schema], path)
        raise UncoveredSchema

    def kept(self, path: Path | None, kind: Kind) -> Path | None:
        if path is None or path not in self.wanted:
            return None
        if self.wanted[path] is not kind:
            raise UncoveredSchema
        return path

    def complex_steps(self, schema: dict[str, Any], path: Path | None) -> tuple[Step, ...]:
        kind = schema["type"]
        if kind == "record":
            return self.record_steps(schema, path)
        if kind == "array":
            items = self.steps(schema["items"], None)
            if not items:
                raise UncoveredSchema  # items without bytes: their number is not bounded by the block
            array = _array_kind(schema["items"])
            return (ArrayStep(self.kept(path, array), items, array),)
        if kind in ("enum", "fixed", "map"):
            raise UncoveredSchema
        return self.steps(kind, path)

    def record_steps(self, schema: dict[str, Any], path: Path | None) -> tuple[Step, ...]:
        name = schema["name"]
        self.named[name] = self.named[f"{schema.get('namespace')}.{name}"] = schema
        self.open_names.add(name)
        steps: list[Step] = []
        for entry in schema["fields"]:
            steps += self.steps(entry["type"], None if path is None else (*path, entry["name"]))
        self.open_names.discard(name)
        return tuple(steps)


def _array_kind(items: Any) -> Kind:
    plain = items["type"] if isinstance(items, dict) else items
    if plain == "string":
        return Kind.TEXTS
    if plain in ("int", "long"):
        return Kind.INTEGERS
    return Kind.COUNTS if plain in (["null", "int"], ["null", "long"]) else Kind.OTHERS
