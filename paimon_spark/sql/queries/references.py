"""Where tables of ours may stand in a text, found in its tokens alone: names, time travel, options, functions.

A name with points that begins with the catalog, or that the current database makes ours, is a *reference*: whether it
is a table, or a column, is decided by the syntax tree.

Calls of functions that the catalog stores (``stored_calls``) have gone from a text before it comes here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn, TypeGuard

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.other_systems import STATEMENT_ADVICE
from paimon_spark.format.quoting import quoted, quoted_if_needed
from paimon_spark.sql.queries.query import Increment, Search, TextSearch, Travel
from paimon_spark.sql.queries.time_travel import read_travel
from paimon_spark.sql.text.cursor import Cursor, identifier_parts
from paimon_spark.sql.text.lexer import Kind, Token, error_at
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.names import Names, TableName

_INCREMENTS = {
    "paimon_incremental_query": ("the start", "the end"),
    "paimon_incremental_between_timestamp": ("the start", "the end"),
    "paimon_incremental_to_auto_tag": ("the tag",),
}
VECTOR_SEARCH = "vector_search"
FULL_TEXT_SEARCH = "full_text_search"
TABLE_FUNCTIONS = (*_INCREMENTS, VECTOR_SEARCH, FULL_TEXT_SEARCH)
CHANGES_FUNCTION = "table_changes"
_HYBRID_SEARCH = "hybrid_search"
_SEARCHES = frozenset({VECTOR_SEARCH, FULL_TEXT_SEARCH, _HYBRID_SEARCH})
_CALLS_WITH_FROM = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})
_BEFORE_TABLE_WORD = frozenset(
    {"ALTER", "ANALYZE", "CREATE", "DROP", "INTO", "OVERWRITE", "REPLACE", "TRUNCATE", "UNCACHE"}
)
_VERBS = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})
_CLAUSES = frozenset({"SELECT", "FROM", "JOIN", "WHERE", "BY", "HAVING", "VALUES", "SET", "WITH", "WHEN", "LIMIT"})
_CONDITIONS = (("IF", "EXISTS"), ("IF", "NOT", "EXISTS"))
_NO_NAMES = frozenset({("IF", "EXISTS"), ("IF", "NOT"), ("EXTENDED", "IN"), ("EXTENDED", "FROM")})
"""What may begin behind TABLE and is no name of a table."""
_BEFORE_TABLES = frozenset({"FROM", "JOIN", ",", "LATERAL", "TABLE", "("})
_HOW = (
    "a function is named <catalog>.<database>.<function> and only a REST catalog stores some; a function of the Spark "
    "session is made by CREATE TEMPORARY FUNCTION"
)
_BEFORE_VALUES = frozenset(
    {
        *("SELECT", "ALL", "DISTINCT", "WHERE", "ON", "BY", "HAVING", "LIMIT", "OFFSET"),
        *("AND", "OR", "NOT", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "DIV"),
        *("CASE", "WHEN", "THEN", "ELSE"),
    }
)
_NO_OPERATORS = frozenset({")", "]", ".", ";"})


@dataclass(frozen=True)
class Reference:
    """A place where a table of ours may stand.

    Attributes:
        first: the index of its first token.
        last: the index of the last token of the name; what follows the name is not counted.
        parts: of the name; of a function its own name.
        is_certain: it means one of ours, whatever stands around it.
        start: the offset of its first character.
        end: the offset behind its time travel and options, or behind the function.
        table: of a function; None: the name itself means the table.
    """

    first: int
    last: int
    parts: tuple[str, ...]
    is_certain: bool
    start: int
    end: int
    table: TableName | None = None
    travel: Travel | None = None
    increment: Increment | None = None
    search: Search | TextSearch | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def find_references(text: str, tokens: Sequence[Token], names: Names) -> tuple[Reference, ...]:
    """All references of a text, from left to right. Columns with qualifiers may be among them.

    Raises:
        SqlError: time travel to an expression, or a function of ours that is not called with literals.
        UnsupportedFeature: a function that this release does not have.
    """
    found = []
    for first, last, parts in dotted_names(tokens):
        if len(parts) == 1 and _is_call(tokens, last):
            reference = _function(text, tokens, names, first) or _identifier(text, tokens, names, first)
        elif names.is_certain(parts) and is_called(tokens, first, last):
            refuse(text, tokens[first].start, f"calling the function {'.'.join(parts)}")
        elif names.may_be_ours(parts):
            reference = _named(text, tokens, names, first, last, parts)
        else:
            reference = None
        if reference is not None:
            found.append(reference)
    return tuple(found)


def is_named(tokens: Sequence[Token], names: Names) -> bool:
    """True if a text certainly names something of ours: a name behind the catalog, or a function of ours."""
    return any(
        names.is_certain(identifier_parts(tokens, first) or parts)
        or (len(parts) == 1 and _is_call(tokens, last) and _is_function(tokens, first))
        for first, last, parts in dotted_names(tokens)
    )


def named_tables(tokens: Sequence[Token], names: Names) -> list[tuple[int, tuple[str, ...]]]:
    """(index of the first token, parts) of the names that can mean nothing but a table of ours, known by what stands
    before them. A temporary view or a common table expression may be meant by those of one part.
    """
    found = []
    common = _common_names(tokens)
    for first, last, parts in dotted_names(tokens):
        certain = names.is_certain(identifier_parts(tokens, first) or parts)
        is_common = len(parts) == 1 and parts[0].lower() in common
        is_table = not is_common and not _is_call(tokens, last) and _stands_as_table(tokens, first)
        certain = certain or (len(parts) == 1 and _is_call(tokens, last) and _is_function(tokens, first))
        if certain or (is_table and names.find_table(parts) is not None):
            found.append((first, parts))
    return found


def _stands_as_table(tokens: Sequence[Token], first: int) -> bool:
    if tuple(token.upper for token in tokens[first : first + 2]) in _NO_NAMES:
        return False
    words = tuple(token.upper for token in tokens[max(first - 5, 0) : first])
    before = next((words[: -len(ending)] for ending in _CONDITIONS if words[-len(ending) :] == ending), words)[-2:]
    if before[-1:] == ("FROM",):
        return before[0] not in ("DISTINCT", "NEXT") and not _in_call_with_from(tokens, first)
    return before[-1:] in (("JOIN",), ("TABLE",)) or before in (("INSERT", "INTO"), ("MERGE", "INTO"))


def names_read(tokens: Sequence[Token]) -> frozenset[tuple[str, ...]]:
    """The parts, in small letters, of the names that stand where rows are read, but for common table expressions."""
    common = _common_names(tokens)
    found = set()
    for first, last, parts in dotted_names(tokens):
        named = tuple(part.lower() for part in identifier_parts(tokens, first) or parts)
        is_called = _is_call(tokens, last) and not identifier_parts(tokens, first)
        if named[0] not in common and not is_called and tokens[first].upper not in _VERBS and _is_read(tokens, first):
            found.add(named)
    return frozenset(found)


def _is_read(tokens: Sequence[Token], first: int) -> bool:
    """True if rows are read of what a token names, known by what stands before it."""
    before = tokens[first - 1].upper if first else ""
    if before in ("FROM", "JOIN", "USING"):
        return before != "FROM" or _stands_as_table(tokens, first)
    if before == "TABLE":
        return first < 2 or tokens[first - 2].upper not in _BEFORE_TABLE_WORD
    if before == "(":
        return _is_read(tokens, first - 1)
    return before == "," and _in_list_of_from(tokens, first - 1)


def _in_list_of_from(tokens: Sequence[Token], comma: int) -> bool:
    """True if a comma stands between tables of a FROM."""
    depth = 0
    for at in range(comma - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[at].upper, 0)
        if depth < 0:
            return _is_read(tokens, at)
        if depth == 0 and tokens[at].upper in _CLAUSES:
            return tokens[at].upper in ("FROM", "JOIN")
    return False


def _in_call_with_from(tokens: Sequence[Token], at: int) -> bool:
    """True if a token stands in the parentheses of a function whose arguments hold FROM, such as EXTRACT."""
    depth = 0
    for i in range(at - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(tokens[i].upper, 0)
        if depth < 0:
            return tokens[i - 1].upper in _CALLS_WITH_FROM
    return False


def _common_names(tokens: Sequence[Token]) -> frozenset[str]:
    """The names before AS and a parenthesis, as those of common table expressions are, in small letters."""
    words = [token.upper for token in tokens]
    return frozenset(
        token.name.lower() for at, token in enumerate(tokens) if token.is_name and words[at + 1 : at + 3] == ["AS", "("]
    )


def dotted_names(tokens: Sequence[Token]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """(first token, last token, parts) of each longest name with points."""
    at = 0
    while at < len(tokens):
        if not tokens[at].is_name:
            at += 1
            continue
        first, parts = at, [tokens[at].name]
        while at + 2 < len(tokens) and tokens[at + 1].upper == "." and tokens[at + 2].is_name:
            at += 2
            parts.append(tokens[at].name)
        yield first, at, tuple(parts)
        at += 1


def _is_call(tokens: Sequence[Token], last: int) -> bool:
    return last + 1 < len(tokens) and tokens[last + 1].upper == "("


def _is_function(tokens: Sequence[Token], first: int) -> bool:
    word, before = tokens[first].name.lower(), tokens[first - 1].upper if first else ""
    return word in _INCREMENTS or (word in (*_SEARCHES, CHANGES_FUNCTION) and before in ("FROM", "JOIN", "LATERAL"))


def _cursor_behind(text: str, tokens: Sequence[Token], names: Names, last: int) -> Cursor:
    cursor = Cursor(text, tokens, names)
    cursor.at = last + 1
    return cursor


def statement_advice(words: tuple[str, ...], table: Sequence[str], number: str = "3") -> str | None:
    """What is written here in the place of a statement of another system; None: nothing is known of it.

    Spark's own parser reads it too: a system table stands between backquotes. A procedure is named with the catalog
    where the table is, because another one may be current.

    Args:
        words: of the statement, in capitals.
        table: the parts of the name of its table.
        number: a snapshot that it names.
    """
    advice = STATEMENT_ADVICE.get(words)
    if advice is None:
        return None
    *before, last = table or ("t",)
    place = "".join(f"{quoted_if_needed(part)}." for part in before)
    if "/" in last:
        advice = re.sub(r"SELECT \* FROM \{t(\$\w+)\}", lambda by: f"format('paimon').load('{last}{by[1]}')", advice)
    advice = re.sub(r"\{t(\$\w+)\}", lambda by: f"{place}{quoted(last + by[1])}", advice)
    if len(before) > 1 or (before and "/" in last):  # with a catalog, which a path follows at once
        advice = advice.replace("CALL sys.", f"CALL {quoted_if_needed(before[0])}.sys.")
    return advice.replace("{t}", ".".join(map(quoted_if_needed, table))).replace("{n}", number)


def refuse_foreign(cursor: Cursor, words: tuple[str, ...], table: Sequence[str], at: int) -> NoReturn:
    """Refuses what another system writes, with what is written here.

    Args:
        words: of STATEMENT_ADVICE.
        table: the parts of its name.
        at: the offset of the words.

    Raises:
        UnsupportedFeature: always.
    """
    number = next((token.text for token in reversed(cursor.tokens) if token.text.isdigit()), "3")
    said = f"{' '.join(words)} is of another system: {statement_advice(words, table, number)}"
    raise UnsupportedFeature(str(error_at(cursor.text, at, said)))


def _named(
    text: str, tokens: Sequence[Token], names: Names, first: int, last: int, parts: tuple[str, ...]
) -> Reference | None:
    cursor = _cursor_behind(text, tokens, names, last)
    is_certain = names.is_certain(parts)
    before = tokens[first - 1].upper if first else ""
    if cursor.sees("@") and (is_certain or before in _BEFORE_TABLES):
        refuse_foreign(cursor, ("@",), parts, cursor.offset())
    travel = read_travel(cursor, is_certain or before in _BEFORE_TABLES)
    options: dict[str, str] = {}
    if is_certain or before in _BEFORE_TABLES:
        following = cursor.peek(2)
        if cursor.sees("WITH", "(") and following is not None and following.upper != "SELECT":
            cursor.expect("WITH")
            options = cursor.properties()
    end = tokens[cursor.at - 1].end
    return Reference(first, last, parts, is_certain, tokens[first].start, end, travel=travel, options=options)


def _identifier(text: str, tokens: Sequence[Token], names: Names, first: int) -> Reference | None:
    parts = identifier_parts(tokens, first)
    if parts and names.may_be_ours(parts):
        return _named(text, tokens, names, first, first + 3, parts)
    return None


def _function(text: str, tokens: Sequence[Token], names: Names, first: int) -> Reference | None:
    word = tokens[first].name.lower()
    if not _is_function(tokens, first):
        return None
    if word == _HYBRID_SEARCH:
        raise UnsupportedFeature(
            f"the table-valued function {word} is not supported by this release of paimon_spark; {VECTOR_SEARCH} finds "
            f"vectors and {FULL_TEXT_SEARCH} texts, each with its scores"
        )
    cursor = _cursor_behind(text, tokens, names, first)
    if word in _SEARCHES:
        read = _search if word == VECTOR_SEARCH else _text_search
        return read(cursor, names, tokens[first].start, first)
    if word == CHANGES_FUNCTION:
        asked = cursor.peek(1)
        name = asked.text[1:-1] if asked is not None and asked.kind is Kind.STRING else ""
        if not names.may_be_ours(name.split(".")):
            return None  # of Delta Lake, in a session that has it
        named = [part.strip("`") for part in (name or "db.t").split(".")]
        refuse_foreign(cursor, ("TABLE_CHANGES",), named, tokens[first].start)
    at, wanted = cursor.offset(), _INCREMENTS[word]
    values = cursor.listed(lambda: cursor.literal(f"an argument of {word}"))
    if len(values) != 1 + len(wanted) or not isinstance(values[0], str):
        raise cursor.error(f"{word} takes the name of a table as a string, {' and '.join(wanted)}", at)
    parts = tuple(part.strip("`") for part in values[0].split("."))
    table = cursor.located(at, lambda: names.load_table(parts))
    arguments = tuple(str(value) for value in values[1:])
    end = tokens[cursor.at - 1].end
    start = tokens[first].start
    return Reference(first, first, (word,), True, start, end, table=table, increment=Increment(word, arguments))


def _search(cursor: Cursor, names: Names, start: int, first: int) -> Reference:
    """``vector_search('db.t', 'column', array(1.0, 2.0), 10[, options])``.

    Raises:
        SqlError: it is not called so.
    """
    at = cursor.offset()
    values = cursor.listed(lambda: cursor.literal(f"an argument of {VECTOR_SEARCH}"))
    name, column, vector, count, said = (*values, None, None, None, None, None)[:5]
    is_vector = isinstance(vector, tuple) and bool(vector) and all(map(_is_number, vector))
    if not (isinstance(name, str) and isinstance(column, str) and is_vector and len(values) in (4, 5)):
        raise cursor.error(
            f"{VECTOR_SEARCH} takes the names of a table and of a column as strings, an array of numbers, how many "
            "rows are wanted, and perhaps options as a map or a string 'key=value;key=value'",
            at,
        )
    if isinstance(count, bool) or not isinstance(count, int):
        raise cursor.error(f"{VECTOR_SEARCH} takes a whole number of rows, not {count!r}", at)
    assert isinstance(vector, tuple)
    numbers = tuple(float(number) for number in vector if _is_number(number))
    table = cursor.located(at, lambda: names.load_table(tuple(part.strip("`") for part in name.split("."))))
    search = Search(column, numbers, count, _search_options(cursor, said, at))
    end = cursor.tokens[cursor.at - 1].end
    return Reference(first, first, (VECTOR_SEARCH,), True, start, end, table=table, search=search)


def _text_search(cursor: Cursor, names: Names, start: int, first: int) -> Reference:
    """``full_text_search('db.t', 'column', '{"match": {"query": "words"}}', 10)``.

    Raises:
        SqlError: it is not called so.
    """
    at = cursor.offset()
    values = cursor.listed(lambda: cursor.literal(f"an argument of {FULL_TEXT_SEARCH}"))
    if len(values) != 4 or not all(isinstance(value, str) for value in values[:3]):
        raise cursor.error(
            f"{FULL_TEXT_SEARCH} takes the names of a table and of a column as strings, a query as a string of JSON, "
            "and how many rows are wanted",
            at,
        )
    name, column, query, count = values
    if isinstance(count, bool) or not isinstance(count, int):
        raise cursor.error(f"{FULL_TEXT_SEARCH} takes a whole number of rows, not {count!r}", at)
    table = cursor.located(at, lambda: names.load_table(tuple(part.strip("`") for part in str(name).split("."))))
    search = TextSearch(str(column), str(query), count)
    end = cursor.tokens[cursor.at - 1].end
    return Reference(first, first, (FULL_TEXT_SEARCH,), True, start, end, table=table, search=search)


def _is_number(value: object) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _search_options(cursor: Cursor, said: Value, at: int) -> Mapping[str, str]:
    if said is None:
        return {}
    if isinstance(said, Mapping):
        return {str(key): str(value) for key, value in said.items()}
    pairs = [pair.partition("=") for pair in str(said).split(";") if pair.strip()]
    if not isinstance(said, str) or not all(mark for _, mark, _ in pairs):
        raise cursor.error(f"the options of {VECTOR_SEARCH} are a map or a string 'key=value;key=value'", at)
    return {key.strip(): value.strip() for key, _, value in pairs}


def refuse(text: str, at: int, doing: str) -> NoReturn:
    """Refuses what a text asks for at an offset.

    Raises:
        UnsupportedFeature: always.
    """
    message = f"{doing}: no catalog of Paimon has it; {_HOW}"
    raise UnsupportedFeature(str(error_at(text, at, message)))


def is_called(tokens: Sequence[Token], first: int, last: int) -> bool:
    """True if a name is that of a function: parentheses follow it, where a value stands.

    Parentheses may follow the name of a table too, as in ``INSERT INTO paimon.shop.orders (id)``.
    """
    if first == 0 or last + 1 == len(tokens) or tokens[last + 1].upper != "(":
        return False
    before = tokens[first - 1]
    is_operator = before.kind is Kind.SYMBOL and before.upper not in _NO_OPERATORS
    if before.upper in ("FROM", "FOR"):  # IS DISTINCT FROM f(x), SUBSTRING(x FROM f(y) FOR f(z))
        is_distinct = before.upper == "FROM" and first > 1 and tokens[first - 2].upper == "DISTINCT"
        return is_distinct or _in_call_with_from(tokens, first)
    return is_operator or before.upper in _BEFORE_VALUES
