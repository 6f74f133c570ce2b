"""A place in the tokens of a statement, and the pieces that all statements are made of: words, names, literals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias, TypeVar

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.text.lexer import Kind, Token, error_at, tokenize
from paimon_spark.sql.text.literals import Value, number_value, string_value
from paimon_spark.sql.text.names import Names, TableName

T = TypeVar("T")
TYPED = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})
"""The words of a literal of a date or time, which stand before its text."""
_MOST_DIGITS = 1000  # of a number; Python reads no more than 4300
_CLOSE = {"(": ")", "<": ">", "[": "]"}


class Cursor:
    """Reads the tokens of one statement from left to right."""

    def __init__(self, text: str, tokens: Sequence[Token], names: Names) -> None:
        self.text = text
        self.tokens = tokens
        self.names = names
        self.at: int = 0

    # ----------------------------------------------------------------------------------------------------------- words

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        """The token to be read next, or one behind it; None: the text ends before."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def sees(self, *words: str) -> bool:
        """True if these words, in capitals, or symbols come next."""
        here = self.tokens[self.at : self.at + len(words)]
        return len(here) == len(words) and all(token.upper == word for token, word in zip(here, words, strict=True))

    def accept(self, *words: str) -> bool:
        """Go behind the words if they come next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """The one of the words that comes next, behind which the cursor goes; None: none of them."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.error(f"{word} is needed here")

    def expect_end(self) -> None:
        if not self.is_done:
            raise self.error("the statement should end here")

    def offset(self) -> int:
        """The offset in the text of the token that comes next; the end of the last one if none does."""
        token = self.peek()
        if token is not None:
            return token.start
        return self.tokens[-1].end if self.tokens else 0

    def error(self, message: str, at: int | None = None) -> SqlError:
        """An error at the token that comes next, which the message names too. at: another offset."""
        if at is not None:
            return error_at(self.text, at, message)
        token = self.peek()
        found = "the text ends" if token is None else f"found {token.text[:40]}"
        return error_at(self.text, self.offset(), f"{message}; {found}")

    def unsupported(self, message: str) -> UnsupportedFeature:
        """The refusal of what comes next, with its place."""
        return UnsupportedFeature(str(self.error(message)))

    # ----------------------------------------------------------------------------------------------------------- names

    def name(self, what: str = "a name") -> str:
        """One name: a word or a quoted name."""
        token = self.peek()
        if token is None or not token.is_name:
            raise self.error(f"{what} is needed here")
        self.at += 1
        return token.name

    def parts(self, what: str = "a name") -> tuple[str, ...]:
        """A name with points."""
        parts = [self.name(what)]
        while self.accept("."):
            parts.append(self.name("a part of the name"))
        return tuple(parts)

    def table(self) -> TableName | None:
        """The name of a table; None: it is Spark's.

        Raises:
            UnsupportedFeature: only Spark can tell, and the current database is one of ours.
        """
        at = self.offset()
        if not self.sees("IDENTIFIER", "("):
            return self.located(at, lambda: self.names.find_table(self.parts("the name of a table")))
        parts = identifier_parts(self.tokens, self.at)
        self.at += 4
        if parts and not self.sees("."):
            return self.located(at, lambda: self.names.find_table(parts))
        if self.names.database is None:
            return None
        takes = "IDENTIFIER takes one text in statements that change a table, as IDENTIFIER('db.t')"
        raise UnsupportedFeature(str(self.error(f"{takes}: write the name of the table into the statement", at)))

    def own_table(self) -> TableName:
        """The name of a table of ours, where no other can stand."""
        at = self.offset()
        found = self.table()
        if found is None:
            raise self.error(f"this is no table of the catalog {self.names.catalog}: {self.names.how_to}", at)
        return found

    def located(self, at: int, read: Callable[[], T]) -> T:
        """What a function returns; an error of it that has no place in the text gets one."""
        try:
            return read()
        except SqlError as error:
            message = str(error)
            raise (error if message.startswith("SQL, line ") else error_at(self.text, at, message)) from None

    def name_list(self, what: str) -> tuple[str, ...]:
        """Names in parentheses."""
        return self.listed(lambda: self.name(what))

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """``(item, item, ...)`` with one item or more."""
        self.expect("(")
        items = [item()]
        while self.accept(","):
            items.append(item())
        self.expect(")")
        return tuple(items)

    # -------------------------------------------------------------------------------------------------------- literals

    def string(self, what: str) -> str:
        """A string; strings in a row are one."""
        token = self.peek()
        if token is None or token.kind is not Kind.STRING:
            raise self.error(f"{what} is needed here, as a string")
        value = self._strings()
        if isinstance(value, bytes):
            raise self.error(f"{what} is a text, not a binary", token.start)
        return value

    def literal(self, what: str = "a literal") -> Value:
        """A literal: a string, number, TRUE, FALSE, NULL, DATE or TIMESTAMP '...', ARRAY(...) or MAP(...)."""
        token = self.peek()
        if token is None:
            raise self.error(f"{what} is needed here")
        if token.kind is Kind.STRING:
            return self._strings()
        if token.kind is Kind.NUMBER:
            self.at += 1
            return self._number(token)
        return self._worded(token, what)

    def is_literal_end(self) -> bool:
        """True if no part of an expression comes next, such as an operator."""
        return self.is_done or any(self.sees(mark) for mark in (",", ")", "]"))

    def _number(self, token: Token) -> int | float | Decimal:
        if len(token.text) > _MOST_DIGITS:
            raise self.error(f"the number {token.text:.20}... has more than {_MOST_DIGITS} digits", token.start)
        return number_value(token.text)

    def _strings(self) -> str | bytes:
        found: list[str | bytes] = []
        while (token := self.peek()) is not None and token.kind is Kind.STRING:
            found.append(self._one_string(token))
        if len(found) == 1:
            return found[0]
        texts = [part for part in found if isinstance(part, str)]
        if len(texts) < len(found):
            raise self.error("binary literals cannot stand in a row", self.tokens[self.at - 1].start)
        return "".join(texts)

    def _one_string(self, token: Token) -> str | bytes:
        """What the string literal that comes next stands for."""
        try:
            value = string_value(token.text)
        except ValueError:
            raise self.error(f"{token.text[:40]} holds something else than hexadecimal digits", token.start) from None
        self.at += 1
        return value

    def _worded(self, token: Token, what: str) -> Value:
        following = self.peek(1)
        self.at += 1
        match token.upper:
            case "TRUE" | "FALSE":
                return token.upper == "TRUE"
            case "NULL":
                return None
            case "-" | "+" if following is not None and following.kind is Kind.NUMBER:
                self.at += 1
                value = self._number(following)
                return -value if token.upper == "-" else value
            case "ARRAY" if self.sees("("):
                return self._values()
            case "MAP" if self.sees("("):
                values = self._values()
                if len(values) % 2 == 0:
                    return dict(zip(values[::2], values[1::2], strict=True))
                raise self.error("MAP(...) needs a value for each key", token.start)
            case typed if typed in TYPED and following is not None and following.kind is Kind.STRING:
                return self.string("a date or time")
        self.at -= 1
        raise self.error(f"{what} must be a literal: an expression is not possible here")

    def _values(self) -> tuple[Value, ...]:
        if self.accept("(", ")"):
            return ()
        return self.listed(lambda: self.literal("an element"))

    # --------------------------------------------------------------------------------------------------------- clauses

    def skip_group(self) -> None:
        """Go behind the parentheses that open here, with all that is in them."""
        start, depth = self.offset(), 0
        while (token := self.peek()) is not None:
            depth += token.nesting
            self.at += 1
            if depth == 0:
                return
        raise self.error("this parenthesis has no end; close it with )", start)

    def text_until(self, stops: Callable[[], bool], what: str, brackets: str = "([") -> str:
        """The characters up to a token where ``stops`` is true outside of brackets, or to the end of an item of a list.

        Args:
            what: names the text in an error.
            brackets: those that open in it. In a type ``<`` is one, in an expression an operator.
        """
        first, start = self.at, self.offset()
        open_marks: list[str] = []
        while (token := self.peek()) is not None:
            if not open_marks and (token.upper in (",", ")") or stops()):
                break
            if token.upper and token.upper in brackets:
                open_marks.append(token.upper)
            elif open_marks and token.upper == _CLOSE[open_marks[-1]]:
                open_marks.pop()
            self.at += 1
        if self.at == first:
            raise self.error(f"{what} is needed here")
        return self.text[start : self.tokens[self.at - 1].end]

    def properties(self) -> dict[str, str]:
        """``('key' = 'value', key.name = 1, 'key' 'value')``, the values as texts, as Spark makes them.

        Raises:
            SqlError: a key is given twice, or a value is an expression.
        """
        found: dict[str, str] = {}

        def read() -> None:
            at = self.offset()
            key = self.property_key()
            self.accept("=") or self.accept("==")
            if key in found:
                raise self.error(f"the property '{key}' is given twice", at)
            token = self.peek()
            value = self.literal(f"the value of '{key}'")
            if not self.is_literal_end():
                raise self.error(f"the value of '{key}' must be a literal")
            if not isinstance(value, str | int | float | Decimal) or (token is not None and token.upper in TYPED):
                raise self.error(f"the value of '{key}' is a text, a number, TRUE or FALSE", at)
            found[key] = property_text(value)

        self.listed(read)
        return found

    def property_key(self) -> str:
        token = self.peek()
        if token is not None and token.kind is Kind.STRING:
            key = self._one_string(token)  # a second string would be the value
            if isinstance(key, bytes):
                raise self.error("the key of a property is a text, not a binary", token.start)
            return key
        return ".".join(self.parts("the key of a property"))


def property_text(value: Value) -> str:
    """The text of a property that is written as a literal."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_table_name(text: str, names: Names) -> TableName:
    """The table of ours that a name means outside of SQL.

    Args:
        text: ``table``, ``database.table`` or ``catalog.database.table``, with backquotes where a part needs them; or
            the catalog and a path, as in SQL.
        names: with the database of names that have none.

    Raises:
        SqlError: it is no name of a table.
    """
    cursor = Cursor(text, tokenize(text), names)
    found = cursor.own_table()
    cursor.expect_end()
    return replace(found, is_bare=False)


def read_parts(text: str, names: Names) -> tuple[str, ...]:
    """The parts of a name, without backquotes.

    Raises:
        SqlError: it is no name.
    """
    cursor = Cursor(text, tokenize(text), names)
    parts = cursor.parts()
    cursor.expect_end()
    return parts


def column_path(text: str) -> tuple[str, ...]:
    """The parts of the name of a column, or of a field in it: ``address.city``, without backquotes.

    Raises:
        SqlError: it is no name.
    """
    return read_parts(text, Names("", None))


@dataclass(frozen=True)
class PartitionValue:
    """A column of PARTITION (...).

    Attributes:
        is_given: it has a value; else it is dynamic, or stands for all values.
        value: the literal.
        type: the word before the literal, DATE or TIMESTAMP; "": there is none.
    """

    column: str
    is_given: bool = False
    value: Value = None
    type: str = ""


PartitionSpec: TypeAlias = tuple[PartitionValue, ...]


def read_partition(cursor: Cursor) -> PartitionSpec:
    """``PARTITION (dt = '2026-11-01', hour)``; (): the word does not come next.

    Raises:
        SqlError: a column is named twice, or its value is an expression.
    """
    return read_values(cursor) if cursor.accept("PARTITION") else ()


def read_values(cursor: Cursor) -> PartitionSpec:
    """``(dt = '2026-11-01', hour)``."""
    found: dict[str, PartitionValue] = {}

    def read() -> None:
        at = cursor.offset()
        column = cursor.name("a partition column")
        if column.lower() in found:
            raise cursor.error(f"the partition column {column} is named twice", at)
        is_given = cursor.accept("=") or cursor.accept("==")
        token = cursor.peek()
        value = cursor.literal(f"the value of the partition column {column}") if is_given else None
        if not cursor.is_literal_end():
            raise cursor.error(f"the value of the partition column {column} must be a literal")
        typed = token.upper if token is not None and token.upper in TYPED and is_given else ""
        found[column.lower()] = PartitionValue(column, is_given, value, typed)

    cursor.listed(read)
    return tuple(found.values())


def identifier_parts(tokens: Sequence[Token], first: int) -> tuple[str, ...]:
    """The parts of the name in ``IDENTIFIER('db.t')``; () for something else, also if its name is not one string."""
    kinds = [token.kind for token in tokens[first + 1 : first + 4]]
    if first >= len(tokens) or tokens[first].upper != "IDENTIFIER" or kinds != [Kind.SYMBOL, Kind.STRING, Kind.SYMBOL]:
        return ()
    if tokens[first + 1].upper != "(" or tokens[first + 3].upper != ")":
        return ()
    try:
        inner = tokenize(tokens[first + 2].text[1:-1])
    except SqlError:
        return ()
    is_name = len(inner) % 2 == 1 and all(
        token.upper == "." if at % 2 else token.is_name for at, token in enumerate(inner)
    )
    return tuple(token.name for token in inner[::2]) if is_name else ()
