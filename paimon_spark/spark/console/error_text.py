"""Errors of Spark as one sentence: without the plan of the query, its text, and the stacks of Java and Python."""

from __future__ import annotations

import re
from itertools import takewhile

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.spark.adapters.errors import error_of_task

SPARK_ERRORS = (PySparkException, Py4JError)
_PREFIX = re.compile(r"^(?:[\w.$]+(?:Exception|Error): )+")
_WRAPPED = "Exception thrown in awaitResult"
_FURTHER = re.compile(r"==|'|\+-|:[+-] |at |Traceback|Driver stacktrace|JVM stacktrace|File \"")


def in_our_words(error: Exception) -> PaimonError:
    """An error of Spark as one of ours."""
    kind = SqlError if isinstance(error, AnalysisException | ParseException) else PaimonError
    return kind(error_text(error))


def error_text(error: Exception) -> str:
    """What a user needs of an error of Spark, on one line.

    A PaimonError that was raised in a task of Spark stands in the stack of Python, and is what is shown.
    """
    text = _whole_text(error)
    ours = error_of_task(text)
    if ours is not None:
        return ours[1]
    lines = [line.strip() for line in text.strip().splitlines()]
    head = takewhile(lambda line: line and not _FURTHER.match(line), lines)
    return _PREFIX.sub("", " ".join(head)) or type(error).__name__


def _whole_text(error: Exception) -> str:
    if not isinstance(error, Py4JJavaError):
        return str(error)
    found = error.java_exception  # the text of the error itself begins with the name of a call of Py4J
    while _WRAPPED in str(found.toString()) and found.getCause() is not None:
        found = found.getCause()
    return str(found.toString())
