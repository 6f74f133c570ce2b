"""By which rules a Spark session reads a condition, and where those give a condition another meaning."""

from __future__ import annotations

from enum import Enum

from paimon_spark.errors import PredicateError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

_EXACT = INTEGERS | {Root.DECIMAL}
_FAMILIES = (STRINGS, BINARIES, _EXACT, {Root.BOOLEAN}, {Root.TIME}, TIMESTAMPS | {Root.DATE})


class Dialect(Enum):
    """The rules of a session.

    Attributes:
        ANSI: those that Spark 4 has by default.
        LENIENT: those of ``spark.sql.ansi.enabled`` = ``false``: values of two kinds are compared in other types.
        OTHER: the session reads names or literals otherwise, so that nothing is known of a text.
    """

    ANSI = "ansi"
    LENIENT = "lenient"
    OTHER = "other"

    def check_known(self) -> None:
        """Raises PredicateError if nothing is known of a text."""
        if self is Dialect.OTHER:
            raise PredicateError("the settings of the Spark session change how names or literals are read")

    def check_alike(self, left: DataType | None, right: DataType | None) -> None:
        """Refuses values that the session may compare in another type than ANSI rules do (Spark: TypeCoercion).

        Args:
            left, right: the types of the values; None: of a bare NULL.

        Raises:
            PredicateError: they are a text and no text, a FLOAT and another number, or of two kinds.
        """
        if self is Dialect.ANSI or left is None or right is None:
            return
        roots = {left.root, right.root}
        doubles = roots <= _EXACT | {Root.DOUBLE}
        if not doubles and not any(roots <= family for family in (*_FAMILIES, {Root.FLOAT})):
            raise PredicateError(
                f"with spark.sql.ansi.enabled = false, {type_sql(left)} and {type_sql(right)} are compared by other "
                "rules: write the value in the type of the column"
            )
