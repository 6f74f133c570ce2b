"""Errors in a batch of a stream, which name the batch and its target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_spark import errors
from paimon_spark.errors import PaimonError
from paimon_spark.spark.adapters.errors import error_of_task


@contextmanager
def named_batch(number: int, target: str) -> Iterator[None]:
    """Lets an error name the batch and its target. The error itself is the cause of the one that is raised.

    Args:
        number: of the batch.
        target: what the stream writes to: the path of a table, or a database.

    Raises:
        PaimonError: the class that was raised here or in a task of Spark, with the same sentence behind the names.
        Another error as it is, with a note of the names.
    """
    place = f"batch {number} of the stream into {target}"
    try:
        yield
    except Exception as error:
        known = _public(error) if isinstance(error, PaimonError) else error_of_task(str(error))
        if known is None:
            error.add_note(place)
            raise
        kind, sentence = known
        raise kind(f"{place}: {sentence}") from error


def _public(error: PaimonError) -> tuple[type[PaimonError], str]:
    """The class that the documentation names: a subclass of ours is not in it, and may be made of other values."""
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return kind, str(error)
