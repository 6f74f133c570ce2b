"""Conditions on CHAR columns, as Spark compares them, over the texts that files hold.

Spark pads CHAR(n) with blanks: it writes padded texts, pads what it reads, and pads the shorter side of a comparison
with a literal (Spark: ApplyCharTypePadding). Flink and the core of the Java system store texts as they come. So a file
may hold ``x`` or ``x`` with blanks behind it, and a condition means both. Here it becomes a condition on stored texts
which is true for all forms of a text or for none, so that statistics, indexes, hashes and partitions can be used.

Blanks at the end do not keep the order of texts: ``a`` and a tab is greater than ``a``, and less than ``a`` and a
blank. A bound takes that into account.
"""

from __future__ import annotations

from paimon_spark.arrow.predicates.predicate import (
    Compare,
    Contains,
    EndsWith,
    In,
    Like,
    Op,
    Padded,
    Path,
    Predicate,
    StartsWith,
    TextLeaf,
    and_,
    not_,
    or_,
)

MOST_FORMS = 256
"""More forms of one text are not listed: no index is asked for it then."""
_BLANK = " "


def compare_char(path: Path, length: int, op: Op, text: str) -> Predicate:
    """``column op text`` of a CHAR column, where the shorter of both is padded.

    Args:
        path: of the column.
        length: of its type.
        op: the comparison, the column on its left.
        text: the literal.
    """
    width = max(length, len(text))
    if op in (Op.EQ, Op.NE, Op.NULL_SAFE_EQ):
        equal = _equal(path, width, text, op is Op.NULL_SAFE_EQ)
        return not_(equal) if op is Op.NE else equal
    return _with_stored(Padded(path, width, Compare(path, op, text.ljust(width))))


def test_char(length: int, leaf: TextLeaf) -> Predicate:
    """A condition on the padded texts of a CHAR column, whose own text is taken as it is, such as LIKE."""
    return _with_stored(Padded(leaf.column, length, leaf))


def char_range(path: Path, low: str, high: str, length: int) -> Predicate:
    """What stored texts fulfil of which the padded one lies between two texts, or between these when padded."""
    longest = max(high[:end].ljust(length) for end in range(len(high) + 1))
    return and_(Compare(path, Op.GE, _least(low)), Compare(path, Op.LE, longest))


def _equal(path: Path, width: int, text: str, null_safe: bool) -> Predicate:
    forms = _forms(text, width)
    if null_safe:
        return or_(*(Compare(path, Op.NULL_SAFE_EQ, form) for form in forms))
    if len(forms) == 1:
        return Compare(path, Op.EQ, forms[0])
    if len(forms) <= MOST_FORMS:
        return In(path, forms)
    whole = text.ljust(width)
    return and_(
        Compare(path, Op.GE, forms[0]), Compare(path, Op.LE, whole), Padded(path, width, Compare(path, Op.EQ, whole))
    )


def _forms(text: str, width: int) -> tuple[str, ...]:
    """All texts that are equal to a text when they are padded to a width: with no, one, or more blanks."""
    bare = text.rstrip(_BLANK)
    return tuple(bare.ljust(end) for end in range(len(bare), max(width, len(text)) + 1))


def _with_stored(condition: Padded) -> Predicate:
    """The condition, and what follows from it for stored texts.

    A stored text is the beginning of the padded one, so it is not greater.
    """
    path, length = condition.column, condition.length
    match condition.part:
        case Compare(_, Op.LT | Op.LE as op, str(text)):
            return and_(Compare(path, op, text), condition)
        case Compare(_, Op.GT | Op.GE, str(text)):
            return and_(Compare(path, Op.GE, _least(text)), condition)
        case Compare(_, Op.EQ | Op.NULL_SAFE_EQ, str(text)) if len(_forms(text, length)) <= MOST_FORMS:
            return and_(In(path, _forms(text, length)), condition)
        case StartsWith(_, text):
            return and_(StartsWith(path, text.rstrip(_BLANK)), condition)
        case Like(_, (str(text), *_)):
            return and_(StartsWith(path, text.rstrip(_BLANK)), condition)
        case Compare() | EndsWith() | Contains() | Like():
            return condition


def _least(text: str) -> str:
    """A bound below all stored texts of which the padded one is not less than a text.

    A stored text that is a beginning of it may be padded to more than the text where this goes on with a character
    below the blank.
    """
    end = next((i for i, character in enumerate(text) if character < _BLANK), len(text))
    return text[:end].rstrip(_BLANK)
