"""Names of columns that statements need for columns of their own beside those of the user."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_spark.errors import UnsupportedFeature

PREFIX = "_paimon_"


def check_names(what: str, names: Iterable[str]) -> None:
    """Checks that no column has a name that a column of the job may have: rows would be found by the wrong values.

    Args:
        what: whose columns they are, for the message.

    Raises:
        UnsupportedFeature: a name begins with the prefix.
    """
    taken = [name for name in names if name.lower().startswith(PREFIX)]
    if taken:
        raise UnsupportedFeature(
            f"{what} has the column '{taken[0]}': names that begin with '{PREFIX}' are those of columns that DELETE, "
            "UPDATE and MERGE make for themselves; rename the column"
        )
