"""The border to Spark, which shows an error with all that was called below it, twice, and with the errors it came from.

What a PaimonError has to say is in its text. So only the frame of the border goes with it: the rest, with which nobody
who reads the sentence can do anything, is in the log, at level DEBUG.

A task that fails leaves nothing but the text of its error in what Spark raises on the driver. ``job_errors`` makes the
PaimonError of it again, whether Python code of a task raised it (``plainly``) or an expression of Spark (``raised``).
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, get_ident
from typing import Any, TypeVar, cast

from pyspark.errors import AnalysisException
from pyspark.errors import utils as pyspark_errors
from pyspark.logger import PySparkLogger
from pyspark.sql import Column
from pyspark.sql import functions as sf

from paimon_spark import errors
from paimon_spark.errors import OptionError, PaimonError, ResourcesExhausted

_log = logging.getLogger(__name__)
_RAISED = re.compile(
    rf"(?:^|\[USER_RAISED_EXCEPTION\] ){re.escape(errors.__name__)}\.(\w+): (.+?)(?: SQLSTATE: P0001.*)?$", re.MULTILINE
)
_HIDDEN_TABLE = re.compile(r"`?\b(?:_pyspark_\w+|paimon_[0-9a-f]{32}\b|paimon_[0-9a-f]*(?=\.\.\.))`?")
_BEHIND_SENTENCE = re.compile(
    r"\n\s*== (?:SQL|DataFrame)|;\s*line \d+ pos \d+|;\s*\n|\n\s*'|\n\s*\+-|\n\n|\(line \d+, pos \d+\)"
)
_OF_JOB = re.compile(r"\[([A-Z_]+(?:\.[A-Z_]+)*)\]\s+(.*?)\s*SQLSTATE: \w+", re.DOTALL)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_NEEDED_BY_TASKS = frozenset(
    {
        "paimon_spark",
        "pyspark",
        "pyarrow",
        "numpy",
        "fastavro",
        "pyroaring",
        "xxhash",
        "cramjam",
        "zstandard",
        "obstore",
    }
)
_PYTHON = "PYSPARK_PYTHON"
_ERROR_LOGS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
Function = TypeVar("Function", bound=Callable[..., Any])


def plainly(function: Function) -> Function:
    """A function that Spark calls: a PaimonError leaves it, and the iterator that it returns, without its history."""

    @wraps(function)
    def call(*args: Any, **more: Any) -> Any:
        try:
            found = function(*args, **more)
        except (PaimonError, MemoryError) as error:
            raise _plain(error) from None
        return _each(found) if isinstance(found, Iterator) else found

    return cast(Function, call)


def raised(kind: type[PaimonError], text: Column | str) -> Column:
    """An expression without a value, which fails its job with an error of ours; ``job_errors`` raises it."""
    message = sf.lit(text) if isinstance(text, str) else text
    return sf.raise_error(sf.concat(sf.lit(f"{errors.__name__}.{kind.__name__}: "), message))


def lost_kept_rows(error: Exception) -> bool:
    """True for a failed job whose rows were kept on an executor (`localCheckpoint`) that has died since."""
    return "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in str(error)


@contextmanager
def job_errors() -> Iterator[None]:
    """For jobs of Spark that this process runs: the PaimonError that failed one of its tasks is raised as itself.

    Raises:
        PaimonError: the class and the sentence of the task's. Any other error of Spark as it is.
    """
    try:
        yield
    except PaimonError:
        raise
    except Exception as error:  # classic Spark raises what Py4J makes of Java's, Connect its own: no common base
        known = error_of_task(str(error))
        if known is None:
            raise
        _log.debug("a task of Spark failed with a PaimonError", exc_info=error)
        kind, sentence = known
        raise kind(sentence) from None


def error_of_task(text: str) -> tuple[type[PaimonError], str] | None:
    """The class and the sentence of the PaimonError that an exception of Spark tells of; None: of none.

    A task of Spark that fails leaves only its stack in words; the error that was raised last is the one that counts.
    """
    found = _RAISED.findall(text)
    if found:
        name, sentence = found[-1]
        return getattr(errors, name, PaimonError), sentence.strip()
    missing = next((name for name in _NO_MODULE.findall(text) if name.partition(".")[0] in _NEEDED_BY_TASKS), None)
    return None if missing is None else (OptionError, _other_python(missing))


def _other_python(missing: str) -> str:
    given = os.environ.get(_PYTHON)
    which = "the python3 of the PATH" if given is None else f"{given}, as {_PYTHON} says"
    return (
        f"a task of Spark ran on a Python without the package '{missing}': on each machine Spark starts {which}. "
        f"Set {_PYTHON} to a Python that has paimon-spark before the session starts"
        + ("; that of this process is " + sys.executable if given != sys.executable else ", and install it on each")
    )


def without_plan(error: AnalysisException, kind: type[AnalysisException] = AnalysisException) -> AnalysisException:
    """An error of Spark without the plan of the query, and without the names of views that stand for tables of ours.

    Args:
        kind: of the error that is returned.
    """
    text = str(error).strip()
    head = text[: match.start()] if (match := _BEHIND_SENTENCE.search(text)) else text
    head = head.strip().removeprefix(f"[{error.getCondition()}]").strip()
    parameters = {key: _shown(value) for key, value in (error.getMessageParameters() or {}).items()}
    return kind(_shown(" ".join(head.split())), error.getCondition(), parameters)


@contextmanager
def not_logged() -> Iterator[None]:
    """While Spark is asked for what may be an error: PySpark writes each one to stderr, with the plan and its stack."""
    here = get_ident()

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != here

    logs = [PySparkLogger.getLogger(name) for name in _ERROR_LOGS]
    for log in logs:
        log.addFilter(is_of_another)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(is_of_another)


class _CallSites:
    """The blocks that want no call sites, and what PySpark had found out before them: None, or whether it wants some.

    It asks the session once for a process (``_enable_debugging_cache``, the same in releases 4.1 and 4.3). A release
    without that name takes no notice.
    """

    def __init__(self) -> None:
        self._lock, self._blocks, self._before = Lock(), 0, None

    def enter(self) -> None:
        with self._lock:
            if not self._blocks:
                self._before = getattr(pyspark_errors, "_enable_debugging_cache", None)
                pyspark_errors._enable_debugging_cache = False  # type: ignore[assignment]  # it is made without a type
            self._blocks += 1

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                pyspark_errors._enable_debugging_cache = self._before


_call_sites = _CallSites()


@contextmanager
def without_call_sites() -> Iterator[None]:
    """While expressions are made that users have not written: PySpark tells the JVM of each where a program makes it.

    That would be a line of this package. It takes seven round trips for each operation on a Column, half of all that a
    MERGE takes. An expression that another thread makes meanwhile has no call site either: an error of it lacks it.
    """
    _call_sites.enter()
    try:
        yield
    finally:
        _call_sites.leave()


def sentence_of_job(error: Exception) -> tuple[str, str] | None:
    """The condition and the sentence of an error that failed a job of Spark; None: it has none.

    Classic Spark raises what Py4J makes of Java's where rows are collected: only the text tells what happened.
    """
    found = _OF_JOB.search(str(error))
    return None if found is None else (found[1], _shown(" ".join(found[2].split())))


def names_hidden_table(error: Exception) -> bool:
    """True if the text of an error shows a view that stands for a table of ours."""
    return bool(_HIDDEN_TABLE.search(str(error)))


def _shown(text: str) -> str:
    return _HIDDEN_TABLE.sub("a table", text)


def _each(values: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from values
    except (PaimonError, MemoryError) as error:
        raise _plain(error) from None


def _plain(error: PaimonError | MemoryError) -> PaimonError:
    """The error under the class that the documentation names: a subclass of ours is not in it."""
    if not isinstance(error, PaimonError):
        error = ResourcesExhausted.of("a task of Spark", error)
    _log.debug("a PaimonError goes to Spark", exc_info=error)
    public = next(kind for kind in type(error).__mro__ if kind.__module__ == PaimonError.__module__)
    return error.with_traceback(None) if type(error) is public else public(str(error))


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
