"""Starts a Spark session for a program, on whose terminal Spark must not write."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from subprocess import STDOUT
from typing import BinaryIO

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.spark.adapters.errors import error_of_task
from paimon_spark.spark.adapters.options import SESSION_ZONE

_LOCAL = {
    "spark.driver.host": "127.0.0.1",  # the name of the machine need not resolve
    "spark.driver.bindAddress": "127.0.0.1",
}
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.app.name": "paimon-spark sql"}
_JAVA = "Spark needs Java 17 or newer"
_MOST_READ = 64 * 1024  # bytes of the log that are looked at
SPARK_ERRORS = (PySparkException, Py4JError)
_PREFIX = re.compile(r"^(?:[\w.$]+(?:Exception|Error): )+")
_WRAPPED = "Exception thrown in awaitResult"
_FURTHER = re.compile(r"==|'|\+-|:[+-] |at |Traceback|Driver stacktrace|JVM stacktrace|File \"")


@dataclass(frozen=True)
class SessionSettings:
    """How a session is started.

    Attributes:
        master: as spark-submit takes it, such as ``local[*]``.
        conf: settings of the user, which come before those of the program.
        time_zone: of the session; None: that of this machine.
    """

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    time_zone: str | None = None

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    def merged(self) -> dict[str, str]:
        """All settings of the session."""
        zone = {} if self.time_zone is None else {SESSION_ZONE: self.time_zone}
        return {**_QUIET, **(_LOCAL if self.is_local else {}), **zone, **self.conf, "spark.master": self.master}


def check_java() -> None:
    """Raises PaimonError if there is no Java where Spark looks for it."""
    home = os.environ.get("JAVA_HOME")
    if home:
        if shutil.which("java", path=str(Path(home) / "bin")) is None:
            raise PaimonError(f"{_JAVA}: JAVA_HOME is {home}, where there is no bin/java; set it to one of Java")
    elif shutil.which("java") is None:
        raise PaimonError(f"{_JAVA}, and none was found: install it and put it on the PATH, or set JAVA_HOME")


def new_session_of_process(settings: SessionSettings) -> SparkSession | None:
    """A session beside the one that this process has, with the settings that a session can have of its own.

    Returns:
        None: this thread has no session.
    """
    active = SparkSession.getActiveSession()
    if active is None:
        return None
    session = active.newSession()
    if settings.time_zone is not None:
        session.conf.set(SESSION_ZONE, settings.time_zone)
    for key, value in settings.conf.items():
        session.conf.set(key, value)
    return session


def start_session(settings: SessionSettings, log: BinaryIO) -> SparkSession:
    """Starts Java and a session in it.

    Args:
        log: a file that can be read too; all that Java writes goes there.

    Raises:
        PaimonError: Java is missing, or Spark does not start.
    """
    check_java()
    if settings.is_local:  # else the machines of the cluster have a Python of their own
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.merged().items()))
    # It writes each error with its stacks to stderr, beside the exception.
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    try:
        gateway = launch_gateway(conf, {"stdout": log, "stderr": STDOUT})
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate()
    except PySparkException as error:
        raise _not_started(_complaint(log) or error_text(error)) from error
    except SPARK_ERRORS as error:
        raise _not_started(error_text(error)) from error


def _not_started(reason: str) -> PaimonError:
    return PaimonError(f"Spark does not start: {reason} (--log FILE keeps all that it writes)")


def _complaint(log: BinaryIO) -> str:
    """The first line of an error that Java wrote, before those of the script that started it; else the last line."""
    log.seek(0)
    lines = [line.strip() for line in log.read(_MOST_READ).decode(errors="replace").splitlines() if line.strip()]
    errors = (line for line in lines if "Error" in line or "Exception" in line)
    return next(errors, lines[-1] if lines else "")


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
