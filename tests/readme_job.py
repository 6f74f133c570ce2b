"""Runs the examples of README.md as they stand: python readme_job.py README DIRECTORY [REMOTE].

DIRECTORY takes the place of /lake. With REMOTE the session is one of Spark Connect. Blocks that name a server of
somebody's own (sc://, http://) are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

ELSEWHERE = ("sc://", "http://")


def python_blocks(readme: str) -> list[str]:
    return [
        block
        for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        if not any(w in block for w in ELSEWHERE)
    ]


def run(spark: SparkSession, readme: str, directory: str) -> int:
    """Runs all blocks in one namespace; returns how many there were."""
    names: dict[str, object] = {}
    blocks = python_blocks(readme)
    for block in blocks:
        exec(compile(block.replace("/lake/", f"{directory}/"), "README.md", "exec"), names)
        names["spark"] = spark
    return len(blocks)


def main() -> None:
    readme, directory, *remote = sys.argv[1:]
    builder = SparkSession.builder.remote(remote[0]) if remote else SparkSession.builder
    session = builder.getOrCreate()
    count = run(session, Path(readme).read_text(), directory)
    rows = session.read.format("paimon").load(f"{directory}/shop.db/orders").orderBy("id").collect()
    print(f"README: {count} examples ran; orders: {[tuple(row) for row in rows]}")


if __name__ == "__main__":
    main()
