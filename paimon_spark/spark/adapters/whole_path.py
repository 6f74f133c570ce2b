"""Paths that somebody typed, where Spark plans: their tasks run elsewhere, and so does the planner of Spark Connect."""

from __future__ import annotations

import os

from paimon_spark.errors import OptionError
from paimon_spark.file_io import absolute_location, is_relative


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


def _is_folder_of_session() -> bool:
    """Spark runs the Python of a Connect session in a folder named by the session's artifacts (PythonWorkerFactory)."""
    artifacts = os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default")
    return artifacts != "default" and os.path.basename(os.getcwd()) == artifacts
