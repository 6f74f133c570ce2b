"""What a query needs of a table whose columns are known: which of them, and which rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import PaimonError
from paimon_spark.format.types import DataField
from paimon_spark.sql.queries.parameters import with_values
from paimon_spark.sql.queries.query import Alternatives, Conjunct, Use, fold

_WORD = re.compile(r"\w+")
_NO_ARGS: Mapping[str, Any] = {}


def needed_columns(use: Use, columns: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of a table that a query may name, in the table's order; None: it needs all.

    A column counts as named if its name is a word anywhere in the text, in strings too; one whose name is no word, such
    as ``order date``, always counts. So nothing is resolved, and nothing can be resolved wrongly.
    """
    if use.words is None:
        return None
    return tuple(name for name in columns if not _WORD.fullmatch(name) or fold(name) in use.words)


def pushed_filter(
    use: Use,
    fields: Sequence[DataField],
    time_zone: TimeZone | None,
    args: Mapping[str, Any] = _NO_ARGS,
    dialect: Dialect = Dialect.ANSI,
) -> str | None:
    """The condition that rows of a table must fulfil to matter to a query, as ``parse_predicate`` takes it; None: none.

    Args:
        fields: the columns of the table.
        time_zone: of the session; None: it is not known.
        args: the values of the named parameters of the query.
        dialect: by which rules the session reads conditions.
    """
    reading = _Reading(fields, time_zone, args, dialect)
    kept = [text for part in use.conjuncts if (text := reading.condition(part)) is not None]
    return " AND ".join(kept) or None


def is_whole_filter(
    use: Use,
    conditions: int,
    fields: Sequence[DataField],
    time_zone: TimeZone | None,
    args: Mapping[str, Any] = _NO_ARGS,
    dialect: Dialect = Dialect.ANSI,
) -> bool:
    """True if ``pushed_filter`` says all that a WHERE of so many conditions says; other arguments as there."""
    if conditions != len(use.conjuncts):
        return False
    reading = _Reading(fields, time_zone, args, dialect)
    return all(isinstance(part, Conjunct) and reading.condition(part) is not None for part in use.conjuncts)


@dataclass(frozen=True)
class _Reading:
    """Conditions being read for a table; see ``pushed_filter``."""

    fields: Sequence[DataField]
    time_zone: TimeZone | None
    args: Mapping[str, Any]
    dialect: Dialect

    def condition(self, part: Conjunct | Alternatives) -> str | None:
        """A condition in parentheses that rows fulfil where the part holds; None: it says nothing of the table."""
        if isinstance(part, Conjunct):
            return self._of_table(part)
        whole = None if part.whole is None else self._of_table(part.whole)
        if whole is not None:
            return whole
        branches = []
        for branch in part.branches:
            kept = [text for inner in branch if (text := self._of_table(inner)) is not None]
            if not kept:
                return None
            branches.append(" AND ".join(kept))
        return f"({' OR '.join(branches)})" if branches else None

    def _of_table(self, part: Conjunct) -> str | None:
        known = {fold(field.name) for field in self.fields}
        text = with_values(part.text, self.args) if all(fold(column) in known for column in part.columns) else None
        if text is None:
            return None
        try:
            parse_predicate(text, self.fields, self.time_zone, self.dialect)
        except PaimonError:
            return None
        return f"({text})"
