"""Several statements in one text: where each begins and ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paimon_spark.errors import SqlError
from paimon_spark.sql.text.lexer import Token, tokenize

_VERTICAL = "\\G"
_NOT_OF_BLOCKS = frozenset({"IF", "WHILE", "LOOP", "REPEAT", "FOR"})


@dataclass(frozen=True)
class ScriptStatement:
    """One statement of a script.

    Attributes:
        text: its characters, without the semicolon. Blanks stand for what is before it in the script, so that a place
            in an error is the place in the script.
        line: in which it begins, from 1.
        vertical: whether ``\\G`` ends it, which asks for its rows one after the other, as clients of MySQL have it.
    """

    text: str
    line: int
    vertical: bool = False


def split_script(text: str) -> tuple[ScriptStatement, ...]:
    """The statements of a text, which ``;`` or ``\\G`` separates; those that are empty are left out.

    Semicolons in strings, quoted names and comments separate nothing, nor do those between BEGIN and END in a script of
    Spark (Spark: SqlBaseParser, compoundStatement).

    Raises:
        SqlError: a string, a quoted name or a comment has no end.
    """
    return tuple(_statement(text, tokens, end == _VERTICAL) for tokens, end in _groups(tokenize(text)) if tokens)


def is_complete(text: str) -> bool:
    """True if the last statement of a text has its end; True too for a text without statements."""
    try:
        groups = list(_groups(tokenize(text)))
    except SqlError:  # a string or a comment goes on in the next line
        return False
    return all(end for _, end in groups)


def _groups(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], str]]:
    """The tokens of each statement, and what ends it: ``;``, ``\\G``, or nothing."""
    start = depth = 0
    for at, token in enumerate(tokens):
        if _is_block(tokens[start : start + 3]):
            following = tokens[at + 1].upper if at + 1 < len(tokens) else ""
            before = tokens[at - 1].upper if at > start else ""
            depth += _step(token.upper, before, following)
        if token.upper == ";" and depth <= 0:
            yield tokens[start:at], ";"
            start, depth = at + 1, 0
        elif token.upper == "\\" and [after.upper for after in tokens[at + 1 : at + 2]] == ["G"]:
            yield tokens[start:at], _VERTICAL
            start, depth = at + 2, 0
    if start < len(tokens):
        yield tokens[start:], ""


def _is_block(head: Sequence[Token]) -> bool:
    """True if a statement begins with BEGIN, which may have a label."""
    words = [token.upper for token in head]
    return words[:1] == ["BEGIN"] or words[1:] == [":", "BEGIN"]


def _step(word: str, before: str, following: str) -> int:
    """By how much a word changes the number of open blocks. Each BEGIN and each CASE has an END."""
    if word == "END":
        return 0 if following in _NOT_OF_BLOCKS else -1
    return int(word in ("BEGIN", "CASE") and before != "END")


def _statement(text: str, tokens: Sequence[Token], vertical: bool) -> ScriptStatement:
    start, end = tokens[0].start, tokens[-1].end
    before = text[:start]
    lines = before.count("\n")
    column = start - (before.rfind("\n") + 1)
    return ScriptStatement("\n" * lines + " " * column + text[start:end], lines + 1, vertical)
