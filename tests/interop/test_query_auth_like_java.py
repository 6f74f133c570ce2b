"""Row filters and column masks of Java's own REST server, by Java's client and by ours: both see the same rows.

``PAIMON_QUERY_AUTH`` sets how many rules are tried (each by its number as seed). Java's columns that a mask is made of
must be read beside it, so that a case reads them all or none.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from genuine import Genuine
from java_rest import limited_by_java
from java_rest_server import JavaRestServer
from support.long_runs import tries
from support.tables.catalog_tables import append_rows

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import PaimonError
from paimon_spark.store.scan.table_scan import Scan

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_QUERY_AUTH", ci=40, long=2000)
TYPES = {
    "k": "INT NOT NULL", "p": "STRING", "i": "INT", "b": "BIGINT", "f": "FLOAT", "d": "DOUBLE", "t": "BOOLEAN",
    "s": "STRING", "v": "VARCHAR(20)", "n": "DECIMAL(10, 2)", "dt": "DATE", "y": "SMALLINT",
}  # fmt: skip
TEXTS = [
    "",
    "a",
    "ab",
    "A%b",
    "straße",
    "Ärger",
    "x_y",
    "line\nend",
    "a\\b",
    "İo",
    "ΑΣ",
    "\N{MATHEMATICAL SCRIPT CAPITAL X}",
    None,
]
VALUES: dict[str, list[Any]] = {
    "i": [0, 1, -5, 2**31 - 1, None],
    "b": [0, 7, -(2**63), 2**40, None],
    "f": [0.0, -0.0, 1.5, float("nan"), float("inf"), None],
    "d": [0.0, -0.0, 0.1, float("nan"), -float("inf"), None],
    "t": [True, False, None],
    "s": TEXTS,
    "v": TEXTS,
    "n": [Decimal("1.50"), Decimal("-2.25"), None],
    "dt": [0, 19000, None],
    "y": [3, -3, None],
}
ORDERED = ("EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_OR_EQUAL", "GREATER_THAN", "GREATER_OR_EQUAL")
OF_TEXT = ("STARTS_WITH", "ENDS_WITH", "CONTAINS", "LIKE")
PATTERNS = ["%", "a%", "%b", "%e%", "_", "a_", "%_%", "a%b", "", "line_end", "%a%b%", "%%", "straß_"]


@pytest.fixture(scope="module")
def ours(java_server: JavaRestServer) -> Catalog:
    catalog = open_catalog(java_server.options)
    catalog.create_database("d")
    for name, keys in (("appended", ()), ("keyed", ("k", "p"))):
        options = {"query-auth.enabled": "true", "file-index.bloom-filter.columns": "s"}
        made = new_schema(TYPES, keys, ("p",), options | ({"bucket": "1"} if keys else {}))
        catalog.create_table(Identifier("d", name), made)
        draw = random.Random(name)
        for _ in range(3):
            rows = {c: [draw.choice(values) for _ in range(12)] for c, values in VALUES.items()}
            rows |= {"k": [draw.randrange(20) for _ in range(12)], "p": [draw.choice("xy") for _ in range(12)]}
            append_rows(catalog.load_table(Identifier("d", name)), {c: rows[c] for c in TYPES})
    return catalog


def reference(name: str) -> dict[str, Any]:
    return {"index": list(TYPES).index(name), "name": name, "type": TYPES[name]}


def field(name: str) -> dict[str, Any]:
    return {"name": "FIELD_REF", "fieldRef": reference(name)}


def of_texts(draw: random.Random) -> dict[str, Any]:
    inputs = [draw.choice([reference("s"), reference("v"), reference("p"), "-", "", None]) for _ in range(3)]
    kind = draw.choice(["CONCAT", "CONCAT_WS", "UPPER", "LOWER"])
    return {"name": kind, "inputs": inputs if kind.startswith("CONCAT") else inputs[:1]}


def condition(draw: random.Random, depth: int = 0) -> dict[str, Any]:
    if depth < 2 and draw.random() < 0.4:
        children = [condition(draw, depth + 1) for _ in range(draw.randint(1, 3))]
        return {"kind": "COMPOUND", "function": draw.choice(["AND", "OR"]), "children": children}
    name = draw.choice(list(TYPES))
    what = draw.random()
    if what < 0.15:
        function = draw.choice(["IS_NULL", "IS_NOT_NULL", "IS_NAN", "TRUE", "FALSE"])
        return {"kind": "LEAF", "transform": field(name), "function": function, "literals": []}
    if what < 0.45 or name in ("n", "dt", "p", "s", "v"):
        transform = field(draw.choice(["s", "v", "p"])) if draw.random() < 0.5 else of_texts(draw)
        function = draw.choice([*OF_TEXT, *ORDERED])
        text = draw.choice(PATTERNS if function == "LIKE" else [*TEXTS, "X", "AB", "-"])
        return {"kind": "LEAF", "transform": transform, "function": function, "literals": [text]}
    known = [one for one in VALUES.get(name, range(20)) if one != one or abs(one or 0) != float("inf")]
    values = [None if one is None or one != one else one for one in known]
    function = draw.choice([*ORDERED, "IN", "NOT_IN", "BETWEEN", "NOT_BETWEEN"])
    count = {"IN": 3, "NOT_IN": 2, "BETWEEN": 2, "NOT_BETWEEN": 2}.get(function, 1)
    literals = [draw.choice([one for one in values if one is not None or draw.random() < 0.2]) for _ in range(count)]
    return {"kind": "LEAF", "transform": field(name), "function": function, "literals": literals}


def mask(draw: random.Random, name: str) -> dict[str, Any]:
    if draw.random() < 0.25:
        return {"name": "NULL"}
    if name in ("s", "v"):
        casts = [{"name": "CAST", "fieldRef": reference(of), "type": "STRING"} for of in ("i", "n", "dt", "t", "d")]
        return draw.choice([*casts, *(of_texts(draw) for _ in casts), field("s"), field("p")])
    if name == "b":
        return {"name": "CAST", "fieldRef": reference("i"), "type": "BIGINT"}
    return draw.choice([field(name), {"name": "NULL"}])


def cells(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(repr(value) for value in row)


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_rule(seed: int, java: Genuine, java_server: JavaRestServer, ours: Catalog) -> None:
    draw, said = random.Random(seed), ""
    while said != "done":  # Java does not read every rule
        table = draw.choice(["appended", "keyed"])
        filters = [json.dumps(condition(draw)) for _ in range(draw.choice([0, 1, 1, 2]))]
        maskable = [name for name in TYPES if name not in ("k", "p")]
        masks = {name: json.dumps(mask(draw, name)) for name in draw.sample(maskable, draw.randint(0, 3))}
        said = java_server.answer("limit", "d", table, json.dumps(filters), json.dumps(masks))
    columns = list(TYPES) if masks else draw.sample(list(TYPES), draw.randint(1, 4))
    expected = java.run(limited_by_java, java_server.options, "d", table, columns)
    scan_of = ours.load_table(Identifier("d", table)).scan
    found = ours_or_error(scan_of, columns)
    if isinstance(expected, str) or isinstance(found, str):
        assert isinstance(expected, str), (filters, masks, found)
        assert isinstance(found, str) or "NullPointerException" in expected, (filters, masks, expected)
        return
    internal = found.set_column(columns.index("dt"), "dt", found["dt"].cast(pa.int32())) if "dt" in columns else found
    rows = list(zip(*(internal[name].to_pylist() for name in columns), strict=True))
    assert sorted(map(cells, rows)) == sorted(map(cells, expected)), (filters, masks)
    assert scan_of().count() == len(expected)


def ours_or_error(scan_of: Callable[[list[str]], Scan], columns: list[str]) -> pa.Table | str:
    try:
        return scan_of(columns).to_arrow()
    except PaimonError as error:
        return str(error)
