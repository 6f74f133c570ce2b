"""Runs the examples of README.md as they stand: python readme_job.py README DIRECTORY [REMOTE].

DIRECTORY takes the place of /lake. REMOTE makes the session one of Spark Connect. The example that registers the source
runs first, and only where Spark has not found it; examples that name a server of somebody's own are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

ELSEWHERE = ("sc://", "http://")
REGISTERING = "dataSource.register"


def python_blocks(readme: str) -> list[str]:
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    return [block for block in blocks if not any(word in block for word in ELSEWHERE)]


def run(spark: SparkSession, readme: str, directory: str, is_registered: bool) -> int:
    """Runs the blocks in one namespace; returns how many."""
    names: dict[str, object] = {"spark": spark}
    blocks = python_blocks(readme)
    first = [block for block in blocks if REGISTERING in block and not is_registered]
    examples = [*first, *(block for block in blocks if REGISTERING not in block)]
    for example in examples:
        exec(compile(example.replace("/lake/", f"{directory}/"), "README.md", "exec"), names)
    return len(examples)


def main() -> None:
    readme, directory, *remote = sys.argv[1:]
    builder = SparkSession.builder.remote(remote[0]) if remote else SparkSession.builder
    session = builder.getOrCreate()
    sent_along = any(entry.endswith("paimon_spark.zip") for entry in sys.path)
    count = run(session, Path(readme).read_text(), directory, is_registered=not sent_along)
    rows = session.read.format("paimon").load(f"{directory}/shop.db/orders").orderBy("id").collect()
    print(f"README: {count} examples ran; orders: {[tuple(row) for row in rows]}")


if __name__ == "__main__":
    main()
