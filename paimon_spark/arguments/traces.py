"""Errors as they leave a public call: the line of the caller, and the sentence.

Python shows an error with every call below the one that the user wrote, and then the errors it came from. Where one is
raised on purpose, nobody who reads its sentence can do anything with them. Other errors are bugs, and stay whole.
"""

from __future__ import annotations

import os

from paimon_spark.errors import PaimonError

SETTING = "PAIMON_SPARK_TRACEBACK"
"""The variable of the environment that keeps all traces whole: ``full``."""

# What Spark says of a statement or of a value. Its other errors may come from a task, where the fault may be ours.
_OF_SPARK = {
    "AnalysisException",
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeException",
    "NumberFormatException",
    "ParseException",
    "SparkRuntimeException",
}


def needs_no_trace(error: BaseException) -> bool:
    """True if the sentence of an error is all that the user needs of it, and the settings do not ask for more."""
    if os.environ.get(SETTING, "").strip().lower() == "full":
        return False
    kinds = type(error).__mro__
    return isinstance(error, PaimonError) or any(
        kind.__name__ in _OF_SPARK and kind.__module__.startswith("pyspark.errors") for kind in kinds
    )


def shortened(error: Exception) -> Exception:
    """The error without its calls. Its cause stays, for programs, without calls and without causes of its own."""
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = cause.__cause__ = None
        cause.__suppress_context__ = True
    error.__suppress_context__ = True
    return error.with_traceback(None)
