"""Words of a SQL text, by the rules of Spark 4, and the places of errors in it.

Spark reads a doubled quote in a string as one quote, block comments nest, and a word may begin with a digit. A word may
hold ``$`` here, which Spark refuses, so that ``t$files`` needs no backquotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from paimon_spark.errors import SqlError


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its characters and where they stand.

    Attributes:
        text: its characters as they are written, quotes too.
        start: the offset of its first character.
        end: the offset behind its last character.
    """

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """The word in capitals, or the symbol; "" for a string, a number and a quoted name."""
        return self.text.upper() if self.kind in (Kind.WORD, Kind.SYMBOL) else ""

    @property
    def nesting(self) -> int:
        """1 where a parenthesis opens, -1 where one closes, else 0."""
        return {"(": 1, ")": -1}.get(self.upper, 0)

    @property
    def is_name(self) -> bool:
        return self.kind in (Kind.WORD, Kind.QUOTED)

    @property
    def name(self) -> str:
        """What a name stands for: a quoted one without its quotes."""
        return self.text[1:-1].replace("``", "`") if self.kind is Kind.QUOTED else self.text


_SPACE = re.compile(r"(?:\s+|--(?:\\\n|[^\r\n])*)+")
_TOKEN = re.compile(
    r"""(?P<STRING>[rRxX]'[^']*'|[rRxX]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      |(?P<QUOTED>`(?:[^`]|``)*`)
      |(?P<NUMBER>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LlSsYyDdFf])?(?!\w))
      |(?P<WORD>\w+(?:\$\w+)*)
      |(?P<SYMBOL><=>|=>|->|<>|!=|<=|>=|==|\|\||\|>|::|[^\s\w'"`])""",
    re.VERBOSE | re.DOTALL,
)
_OPEN = {"'": "string", '"': "string", "`": "quoted name"}


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text, without spaces and comments; hints are comments here.

    Raises:
        SqlError: a string, a quoted name or a comment has no end.
    """
    tokens: list[Token] = []
    at = _skip_space(text, 0)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = _OPEN[text[at]]
            raise error_at(text, at, f"the {what} {_start_of(text, at)} has no end; close it with {text[at]}")
        tokens.append(Token(Kind[str(match.lastgroup)], match[0], at, match.end()))
        at = _skip_space(text, match.end())
    return tuple(tokens)


def closes_its_own(tokens: Iterable[Token]) -> bool:
    """True if each parenthesis that is closed was opened before: the text may stand between two others."""
    depth = 0
    for token in tokens:
        depth += token.nesting
        if depth < 0:
            return False
    return True


def _skip_space(text: str, at: int) -> int:
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if not text.startswith("/*", at):
            return at
        at = _comment_end(text, at)


def _comment_end(text: str, start: int) -> int:
    """The offset behind a block comment, in which other comments may lie."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return start + mark.end()
    raise error_at(text, start, f"the comment {_start_of(text, start)} has no end; close it with */")


def _start_of(text: str, at: int) -> str:
    line = text[at:].split("\n", 1)[0]
    return line if len(line) <= 30 else f"{line[:30]}..."


def error_at(text: str, at: int, message: str) -> SqlError:
    """An error that says where in the text it is: lines and columns count from 1."""
    before = text[: min(at, len(text))]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return SqlError(f"SQL, line {line}, column {column}: {message}")
