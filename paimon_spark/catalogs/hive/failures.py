"""What a metastore refuses, as errors of the port of names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pymetastore.hive_metastore import ttypes
from thrift.Thrift import TException

from paimon_spark.catalogs.identifier import Missing, Refused, Taken

_MISSING = (ttypes.NoSuchObjectException, ttypes.UnknownDBException, ttypes.UnknownTableException)
_NOT_DONE = (ttypes.InvalidOperationException, ttypes.InvalidObjectException, ttypes.InvalidInputException)


@contextmanager
def refusals(doing: str) -> Iterator[None]:
    """Makes errors of the port of those of Hive's Thrift definition. doing: as for Connections.read.

    Raises:
        Missing, Taken, Refused: see there.
    """
    try:
        yield
    except _MISSING as error:
        raise Missing(_words(error)) from None
    except ttypes.AlreadyExistsException as error:
        raise Taken(_words(error)) from None
    except TException as error:
        refused = Refused(f"{doing}: the Hive metastore refuses it: {_words(error)}")
        refused.is_certain = isinstance(error, _NOT_DONE)
        refused.words = _words(error)
        raise refused from None


def _words(error: TException) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split()) or type(error).__name__
