"""Sessions that still run. A stopped one stays an object, whose calls fail in words about Java and attributes."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.errors import SessionStopped


class LiveSession:
    """The attribute of an object that holds its session: to set or to get one that was stopped is an error."""

    def __init__(self, what: str, again: str) -> None:
        """
        Args:
            what: the object, in a message. again: how a user makes it again.
        """
        self._what = what
        self._again = again

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> SparkSession:
        spark: SparkSession = instance.__dict__[self._name]
        check_runs(spark, self._what, f"and {self._again} in it again")
        return spark

    def __set__(self, instance: Any, spark: SparkSession) -> None:
        check_runs(spark, self._what, f"and {self._again} in it")
        instance.__dict__[self._name] = spark


def check_frame(frame: DataFrame) -> DataFrame:
    """The DataFrame, if its session runs.

    Raises:
        SessionStopped: it was stopped.
    """
    check_runs(frame.sparkSession, "the DataFrame", "and make the DataFrame in it again")
    return frame


def check_runs(spark: SparkSession, what: str, then: str) -> None:
    """Refuses a session that was stopped.

    Args:
        what: has the session. then: what to do in another session, after ", ".

    Raises:
        SessionStopped: it was stopped; the message says whether another one runs.
    """
    if not _is_stopped(spark):
        return
    other = type(spark).getActiveSession()
    if other is None or _is_stopped(other):
        advice = "make a new one, spark = SparkSession.builder.getOrCreate()"
    else:
        advice = "a newer one runs: take it, spark = SparkSession.getActiveSession()"
    raise SessionStopped(f"the Spark session of {what} was stopped; {advice}, {then}")


def _is_stopped(spark: Any) -> bool:
    """True if ``stop`` was called; only sessions of Spark Connect say so themselves."""
    stopped = getattr(spark, "is_stopped", None)
    return bool(getattr(spark, "_sc", None) and spark._sc._jsc is None if stopped is None else stopped)
