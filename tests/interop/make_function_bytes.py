"""Makes golden/bytes/java-2.0.0/function_bytes.json: bitmaps and sketches of genuine Java, and their unions.

    python tests/interop/make_function_bytes.py

A case has a function, its values, and the fold of these by Java. Values are sets of numbers, as ranges [first, count,
step]; "size" is that of a sketch, "form" the one it is written in.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from genuine import Genuine, java_process
from support.paths import GOLDEN

VERSION = "2.0.0"
TARGET = GOLDEN / "bytes" / f"java-{VERSION}" / "function_bytes.json"
NOTE = (
    "numbers are ranges [first, count, step], unsigned; hex of an input and of the fold of all inputs, as FieldXxxAgg"
)

Ranges = list[tuple[int, int, int]]

FEW: Ranges = [(1, 3, 7)]
RUNS: Ranges = [(100, 300, 1), (70_000, 70_000, 1)]
VALUES: Ranges = [(0, 100, 3), (2**31, 5, 1000)]
BITS: Ranges = [(2**20, 6000, 3)]
NUMBERS_32: list[Ranges] = [
    [],
    FEW,
    RUNS,
    VALUES,
    BITS,
    [(0, 4096, 2)],
    [(0, 4097, 2)],
    [(2**32 - 1, 1, 1)],
    [(5, 4, 1)],
]
NUMBERS_64: list[Ranges] = [
    [],
    FEW,
    RUNS,
    BITS,
    [(2**63, 2, 2**62), (2**64 - 1, 1, 1)],
    [(7, 4, 2**16)],  # nodes of 4, 16, 48 and 256 children, with and without a prefix
    [(7, 5, 2**24)],
    [(7, 16, 2**32)],
    [(7, 17, 2**40)],
    [(7, 48, 2**48)],
    [(7, 49, 2**16)],
    [(2**60 + 9, 256, 2**24)],
    [(2**56, 2, 2**16), (2**56 + 2**40, 3, 2**24), (1, 2, 2**60)],
    [(0, 30, 2**16), (2**40, 30, 2**32)],
]


def numbers(ranges: Ranges) -> list[int]:
    return sorted(first + i * step for first, count, step in ranges for i in range(count))


def bitmap_cases(kind: str, sets: list[Ranges]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for ranges in sets:
        yield kind, [{"numbers": ranges}]
    r = random.Random(1)
    for _ in range(6):
        yield kind, [{"numbers": ranges} for ranges in r.sample(sets, r.choice([2, 2, 3, 5]))]


def sketch_cases(kind: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    r = random.Random(2)
    counts = [0, 1, 2, 7, 8, 20, 100, 600]
    for size in (12, 5 if kind == "theta" else 7):
        for _ in range(8):
            yield (
                f"{kind}_sketch",
                [
                    {
                        "numbers": [(r.choice([0, 50, 10**6]), r.choice(counts), 1)],
                        "size": size,
                        "form": r.choice([kind, kind, kind, f"{kind} updatable"]),
                    }
                    for _ in range(r.choice([2, 2, 3, 4]))
                ],
            )


def make(java: Genuine, version: str) -> dict[str, Any]:
    cases = []
    all_cases = [*bitmap_cases("rbm32", NUMBERS_32), *bitmap_cases("rbm64", NUMBERS_64)]
    for function, inputs in [*all_cases, *sketch_cases("hll"), *sketch_cases("theta")]:
        values = [java.number_bytes(v.get("form", function), numbers(v["numbers"]), v.get("size", 12)) for v in inputs]
        fold = java.fold(function, "BYTES", {}, [[("put", value) for value in values]])[0]
        for value, data in zip(inputs, values, strict=True):
            value["hex"] = data.hex()
        cases.append({"function": function, "inputs": inputs, "fold": fold.hex()})
    return {"writer": f"java-{version}", "note": NOTE, "cases": cases}


if __name__ == "__main__":
    with java_process(VERSION) as served:
        vectors = make(served, VERSION)
    TARGET.parent.mkdir(exist_ok=True)
    lines = ",\n".join("  " + json.dumps(case) for case in vectors.pop("cases"))
    TARGET.write_text(json.dumps(vectors)[:-1] + ',\n "cases": [\n' + lines + "\n]}\n", encoding="utf-8")
