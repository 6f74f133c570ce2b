"""Paths that somebody typed, where Spark plans: their tasks run elsewhere, and so does the planner of Spark Connect.

On classic Spark a relative path begins where the session was started, for everything that has the session: the data
source runs in processes that Spark starts there, and a program may go to another directory since.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paimon_spark.errors import OptionError
from paimon_spark.file_io import absolute_location, is_relative

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def whole_path(path: str) -> str:
    """The path from the root. A relative one begins where the driver was started, as those of Spark's own sources do.

    Raises:
        OptionError: a relative path of Spark Connect, or one that absolute_location refuses.
    """
    if is_relative(path) and _is_folder_of_session():
        raise OptionError(
            f"the path '{path}' does not begin at the root, and on Spark Connect the server reads and writes it, in a "
            "directory that goes with the session: give the whole path, such as /lake/shop.db/orders"
        )
    return absolute_location(path)


def path_in_session(spark: SparkSession, path: str) -> str:
    """A path that the driver was given, as the data source finds it; one that is not relative stays as it is.

    On Spark Connect the data source refuses relative paths, and here one begins in the working directory of the client.
    """
    start = "file:" if path.startswith("file:") else ""
    rest = path.removeprefix("file:")
    java = getattr(spark, "_jvm", None)
    if java is None or not path.strip() or not is_relative(path) or rest.startswith("~"):
        return path
    return f"{start}{java.java.lang.System.getProperty('user.dir')}/{rest}"


def _is_folder_of_session() -> bool:
    """Spark runs the Python of a Connect session in a folder named by the session's artifacts (PythonWorkerFactory)."""
    artifacts = os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default")
    return artifacts != "default" and os.path.basename(os.getcwd()) == artifacts
