"""Random conditions and values over the columns of a table, in SQL and in Python; NULL is None in both.

Values: of ARRAY and STRUCT tuples, of MAP sets of pairs, of CHAR(n) and VARCHAR(n) texts as Spark stores them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Cells = Mapping[str, Any]
TEXTS = (None, "", "a", "b", "é1")
NUMBERS = (None, 0, 1, 4, 7, -3)
ARRAY, MAP, STRUCT = "ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT, y: STRING>"
CHAR, VARCHAR = "CHAR(4)", "VARCHAR(3)"
CELLS: dict[str, tuple[Any, ...]] = {
    ARRAY: (None, (), (1, None), (4, 0, 4)),
    MAP: (None, frozenset(), frozenset({("q", 1)}), frozenset({("q", None), ("é", 4)})),
    STRUCT: (None, (None, None), (1, "b"), (4, None)),
}
"""The values of columns that are neither numbers nor texts."""
LIMITED_TEXTS = ("a", "a ", "é", "abc", "", "b  d", "\U0001f600b", " c", "Éxyz")
"""What columns of CHAR(n) and VARCHAR(n) are given, where n is no less."""
LITERALS: dict[str, tuple[tuple[str, Any], ...]] = {
    ARRAY: (("array(1, NULL)", (1, None)), ("array()", ())),
    MAP: (("map('q', 7)", frozenset({("q", 7)})), ("map()", frozenset())),
    STRUCT: (("named_struct('x', 5, 'y', 'x')", (5, "x")), ("named_struct('x', NULL, 'y', NULL)", (None, None))),
}
"""Values that statements give such columns."""
ORDERED = 20
"""The n of the CHAR(n) and VARCHAR(n) columns that order rows."""
_REQUIRED = " NOT NULL"


@dataclass(frozen=True)
class Piece:
    """A condition or a value.

    Attributes:
        sql: its text; columns have the alias t or s before them.
        of: its result for a row of the table and a row of the source.
        names: the columns that it reads.
    """

    sql: str
    of: Callable[[Cells, Cells], Any]
    names: frozenset[str]


def is_text(type_text: str) -> bool:
    """True if values of a column are texts; else they are numbers."""
    return type_text.startswith("STRING")


def limit_of(type_text: str) -> int | None:
    """The n of CHAR(n) and VARCHAR(n)."""
    found = re.match(r"(?:VAR)?CHAR\((\d+)\)", type_text)
    return None if found is None else int(found[1])


def stored_text(type_text: str, text: str) -> str:
    """What Spark stores of a text in a column of CHAR(n) or VARCHAR(n)."""
    limit = limit_of(type_text) or 0
    return text[:limit].ljust(0 if type_text.startswith("VAR") else limit)


def limited_texts(type_text: str) -> list[str]:
    """The texts of a column of CHAR(n) or VARCHAR(n), as they are stored."""
    fitting = [text for text in LIMITED_TEXTS if len(text.rstrip()) <= (limit_of(type_text) or 0)]
    return list(dict.fromkeys(stored_text(type_text, text) for text in fitting))


def given_text(r: Random, type_text: str, value: Any) -> Any:
    """A text that a column of CHAR(n) or VARCHAR(n) stores as this value; other values as they are."""
    limit = limit_of(type_text)
    if limit is None or value is None:
        return value
    bare = value.rstrip(" ")
    if type_text.startswith("VAR"):
        return r.choice((value, value + "  ")) if len(value) == limit else value
    return r.choice((value, bare, bare, f"{bare} ", f"{value}  "))


def ordered_text(type_text: str, number: int) -> str:
    """A text for each number, in their order, many of them shorter than the others."""
    return stored_text(type_text, f"{number:010b}".rstrip("0").replace("1", "é"))


def drawn_condition(r: Random, columns: Mapping[str, str], aliases: str = "t") -> Piece:
    """A condition; columns: name -> type, the same in the table and in the source; aliases: "t", "s" or both."""
    left = _of_two_texts(r, columns, aliases) or _comparison(r, columns, r.choice(aliases))
    match r.choice(("one", "one", "one", "not", "and", "or")):
        case "not":
            return Piece(f"not ({left.sql})", lambda t, s: _negated(left.of(t, s)), left.names)
        case "and":
            right = _comparison(r, columns, r.choice(aliases))
            names = left.names | right.names
            return Piece(f"({left.sql}) and ({right.sql})", lambda t, s: _both(left.of(t, s), right.of(t, s)), names)
        case "or":
            right = _comparison(r, columns, r.choice(aliases))
            names = left.names | right.names
            return Piece(f"({left.sql}) or ({right.sql})", lambda t, s: _either(left.of(t, s), right.of(t, s)), names)
    return left


def _comparison(r: Random, columns: Mapping[str, str], alias: str) -> Piece:
    name = r.choice(list(columns))
    column = f"{alias}.{name}"
    made: list[tuple[str, Callable[[Any], Any]]] = [
        (f"{column} is null", lambda v: v is None),
        (f"{column} is not null", lambda v: v is not None),
    ]
    kind = columns[name]
    if limit_of(kind) is not None:
        made += _of_limited_texts(r, column, kind, alias)
    elif kind in CELLS:
        made += _of_other_types(column, kind)
    elif is_text(kind):
        text = r.choice(("x", "y", "a", "b"))
        made += [
            (f"{column} = '{text}'", lambda v: None if v is None else v == text),
            (f"{column} <> '{text}'", lambda v: None if v is None else v != text),
            (f"length({column}) > 1", lambda v: None if v is None else len(v) > 1),
            (f"coalesce({column}, 'a') in ('a', '{text}')", lambda v: ("a" if v is None else v) in ("a", text)),
        ]
    else:
        number = r.choice((*range(6), 99))
        made += [
            (f"{column} = {number}", lambda v: None if v is None else v == number),
            (f"{column} > {number}", lambda v: None if v is None else v > number),
            (f"{column} between 1 and {number}", lambda v: None if v is None else 1 <= v <= number),
            (f"pmod({column}, 2) = 0", lambda v: None if v is None else v % 2 == 0),
        ]
    sql, of = r.choice(made)
    return Piece(sql, _on(alias, name, of, kind), frozenset((name,)))


def _of_other_types(column: str, type_text: str) -> list[tuple[str, Callable[[Any], Any]]]:
    """Conditions on what is in a value; where a part of it is missing, they are NULL."""
    match type_text:
        case "ARRAY<INT>":
            return [
                (f"size({column}) > 1", lambda v: None if v is None else len(v) > 1),
                (f"get({column}, 0) = 1", lambda v: v[0] == 1 if v and v[0] is not None else None),
                (f"get({column}, 5) = 1", lambda v: None),
            ]
        case "MAP<STRING, INT>":
            return [
                (f"size({column}) = 1", lambda v: None if v is None else len(v) == 1),
                (f"{column}['q'] > 0", lambda v: None if (found := dict(v or ()).get("q")) is None else found > 0),
                (f"{column}['none'] = 1", lambda v: None),
            ]
        case "STRUCT<x: INT, y: STRING>":
            return [
                (f"{column}.x > 1", lambda v: None if v is None or v[0] is None else v[0] > 1),
                (f"{column}.y is null", lambda v: v is None or v[1] is None),
                (f"{column}.y = 'none'", lambda v: None if v is None or v[1] is None else False),
            ]
    raise AssertionError(type_text)


def _of_limited_texts(r: Random, column: str, type_text: str, alias: str) -> list[tuple[str, Callable[[Any], Any]]]:
    """Conditions on CHAR(n) and VARCHAR(n). In the source the columns are of STRING: nothing pads their constants."""
    text = r.choice(limited_texts(type_text))
    is_padded = alias == "t" and type_text.startswith("CHAR")
    given = given_text(r, type_text, text) if is_padded else text
    return [
        (f"{column} = '{given}'", lambda v: None if v is None else v == text),
        (f"{column} <=> '{given}'", lambda v: v == text),
        (f"{column} in ('{given}', 'n')", lambda v: None if v is None else v == text),
        (f"{column} > '{given}'", lambda v: None if v is None else v > text),
        (f"{column} like 'a%'", lambda v: None if v is None else v.startswith("a")),
        (f"length({column}) > 1", lambda v: None if v is None else len(v) > 1),
    ]


def _of_two_texts(r: Random, columns: Mapping[str, str], aliases: str) -> Piece | None:
    """Sometimes a comparison of two CHAR columns of the table, of which the shorter one is padded."""
    padded = [name for name, kind in columns.items() if kind.startswith("CHAR")]
    if len(padded) < 2 or "t" not in aliases or r.random() > 0.1:
        return None
    a, b = r.sample(padded, 2)

    def same(t: Cells, s: Cells) -> bool | None:
        return None if t[a] is None or t[b] is None else t[a].rstrip(" ") == t[b].rstrip(" ")

    return Piece(f"t.{a} = t.{b}", same, frozenset((a, b)))


def _on(alias: str, name: str, of: Callable[[Any], Any], kind: str = "") -> Callable[[Cells, Cells], Any]:
    """The result for the value of a column; kind: its type, of CHAR(n): a text that lacks blanks has them."""

    def result(t: Cells, s: Cells) -> Any:
        value = (t if alias == "t" else s)[name]
        return of(stored_text(kind, value) if kind.startswith("CHAR") and value is not None else value)

    return result


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda v: value


def drawn_value(r: Random, columns: Mapping[str, str], name: str, aliases: str = "t") -> Piece:
    """A value for a column."""
    column_type, alias = columns[name], r.choice(aliases)
    kind = column_type.removesuffix(_REQUIRED)
    alike = [other for other, its in columns.items() if its.removesuffix(_REQUIRED) == kind]
    other = name if _REQUIRED in column_type else r.choice(alike)
    if limit_of(kind) is not None:
        return _limited_value(r, column_type, alias, other)
    if kind in CELLS:
        literals = (*LITERALS[kind], ("NULL", None))
        given: list[tuple[str, Callable[[Any], Any]]] = [(text, _always(value)) for text, value in literals]
        sql, of = r.choice([*given, (f"{alias}.{other}", lambda v: v)])
        return Piece(sql, _on(alias, other, of), frozenset((other,)))
    made: list[tuple[str, Callable[[Any], Any]]] = [("'x'", lambda v: "x")] if is_text(kind) else [("5", lambda v: 5)]
    if not is_text(kind):
        made += [(f"{alias}.{other} + 1", lambda v: None if v is None else v + 1)] * 2
    if _REQUIRED not in column_type:
        made += [(f"{alias}.{other}", lambda v: v), ("NULL", lambda v: None)]
        if is_text(kind):
            made += [
                (f"concat({alias}.{other}, 'z')", lambda v: None if v is None else v + "z"),
                (f"upper({alias}.{other})", lambda v: None if v is None else v.upper()),
            ]
    sql, of = r.choice(made)
    return Piece(sql, _on(alias, other, of), frozenset((other,)))


def _limited_value(r: Random, column_type: str, alias: str, other: str) -> Piece:
    kind = column_type.removesuffix(_REQUIRED)
    text = stored_text(kind, "!") if limit_of(kind) == ORDERED else r.choice(limited_texts(kind))
    made: list[tuple[str, Callable[[Any], Any]]] = [(f"'{given_text(r, kind, text)}'", _always(text))]
    if limit_of(kind) == ORDERED:
        # It comes before the text of the next number.
        made += [
            (
                f"concat(rtrim({alias}.{other}), '!')",
                lambda v: None if v is None else stored_text(kind, v.rstrip(" ") + "!"),
            )
        ]
    elif _REQUIRED not in column_type:
        made += [(f"upper({alias}.{other})", lambda v: None if v is None else v.upper())]
    if _REQUIRED not in column_type:
        made += [(f"{alias}.{other}", lambda v: v), ("NULL", lambda v: None)]
    sql, of = r.choice(made)
    return Piece(sql, _on(alias, other, of, kind), frozenset((other,)))


def drawn_cell(r: Random, type_text: str) -> Any:
    """A value as it is stored."""
    if limit_of(type_text) is not None:
        return r.choice((None, *limited_texts(type_text)))
    return r.choice(CELLS.get(type_text) or (TEXTS if is_text(type_text) else NUMBERS))


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _both(left: bool | None, right: bool | None) -> bool | None:
    values: Sequence[bool | None] = (left, right)
    return False if False in values else None if None in values else True


def _either(left: bool | None, right: bool | None) -> bool | None:
    values: Sequence[bool | None] = (left, right)
    return True if True in values else None if None in values else False
