"""The steps of a first write and a first read as Spark runs them: each in a Python of its own, on what others pickled.

``python -m support.programs.cold_steps STEP DIRECTORY`` does one step on the table DIRECTORY/t and prints a line of
JSON: what was imported beyond what Spark's own program for that step imports, and the milliseconds of both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from support.paths import ROOT, TESTS

STEPS = ("lookup", "open_write", "write", "commit", "create", "plan", "read")
"""In the order in which they can run. Spark's first three processes serve the write, its next ones the read."""
ROWS = 1000
_SPARK = {
    "lookup": "pyspark.sql.worker.lookup_data_sources",
    "open_write": "pyspark.sql.worker.write_into_data_source",
    "write": "pyspark.worker",
    "commit": "pyspark.sql.worker.commit_data_source_write",
    "create": "pyspark.sql.worker.create_data_source",
    "plan": "pyspark.sql.worker.plan_data_source_read",
    "read": "pyspark.worker",
}


@dataclass(frozen=True)
class Step:
    """What one step cost. spark_millis, our_millis: processor time of Spark's imports, and of all that follows."""

    spark_millis: int
    our_millis: int
    modules: frozenset[str]

    @property
    def own(self) -> int:
        """How many of them are modules of this package; its folders do not count, they hold a docstring only."""
        ours = {name for name in self.modules if name.partition(".")[0] == "paimon_spark"}
        return len(ours - {name.rpartition(".")[0] for name in ours})

    @property
    def libraries(self) -> frozenset[str]:
        return frozenset(name.partition(".")[0] for name in self.modules)


def run_steps(directory: Path, compiled: str | None = None) -> dict[str, Step]:
    """All steps, on a new table.

    Args:
        directory: of the table; it is made.
        compiled: where modules are compiled to, for another run that measures time; None: as the environment says.
    """
    directory.mkdir(exist_ok=True)
    found = {}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TESTS)])}
    if compiled is not None:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = compiled
    for name in STEPS:
        command = [sys.executable, "-m", __spec__.name, name, str(directory)]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        spark_millis, our_millis, modules = json.loads(done.stdout)
        found[name] = Step(spark_millis, our_millis, frozenset(modules))
    return found


class Pickles:
    """What the steps hand on, as files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, **values: Any) -> None:
        from pyspark.serializers import CloudPickleSerializer

        for name, value in values.items():
            (self.directory / name).write_bytes(CloudPickleSerializer().dumps(value))

    def get(self, name: str) -> Any:
        from pyspark.serializers import CloudPickleSerializer

        return CloudPickleSerializer().loads((self.directory / name).read_bytes())


def lookup(pickles: Pickles) -> None:
    pickles.put(source=import_module("pyspark_paimon").DefaultSource)


def _source(pickles: Pickles, **options: str) -> Any:
    from pyspark.sql.datasource import CaseInsensitiveDict

    given: Any = CaseInsensitiveDict({"path": str(pickles.directory / "t"), **options})
    return pickles.get("source")(options=given)


def open_write(pickles: Pickles) -> None:
    from pyspark.sql.types import DoubleType, LongType, StringType, StructType

    schema = StructType().add("id", LongType()).add("dt", StringType()).add("total", DoubleType())
    source = _source(pickles, **{"primary-key": "id", "bucket": "2"})
    pickles.put(writer=source.writer(schema, False))


def write(pickles: Pickles) -> None:
    import pyarrow as pa
    import pyarrow.csv  # makes rows without pandas, as Spark's stream of Arrow does

    lines = "id,dt,total\n" + "".join(f"{number},d{number % 28},0.5\n" for number in range(ROWS))
    rows = pyarrow.csv.read_csv(pa.py_buffer(lines.encode())).combine_chunks()
    pickles.put(message=pickles.get("writer").write(iter(rows.to_batches())))


def commit(pickles: Pickles) -> None:
    pickles.get("writer").commit([pickles.get("message")])


def create(pickles: Pickles) -> None:
    source = _source(pickles)
    pickles.put(read_source=source, schema=source.schema())


def plan(pickles: Pickles) -> None:
    reader = pickles.get("read_source").reader(pickles.get("schema"))
    pickles.put(reader=reader)
    pickles.put(partitions=reader.partitions())


def read(pickles: Pickles) -> None:
    reader = pickles.get("reader")
    rows = sum(batch.num_rows for partition in pickles.get("partitions") for batch in reader.read(partition))
    assert rows == ROWS


def main(name: str, directory: str) -> None:
    run: Callable[[Pickles], None] = globals()[name]
    began = time.process_time()
    import_module(_SPARK[name])
    imported, there = time.process_time(), set(sys.modules)
    run(Pickles(Path(directory)))
    done = time.process_time()
    millis = [round((end - start) * 1000) for start, end in ((began, imported), (imported, done))]
    print(json.dumps([*millis, sorted(set(sys.modules) - there)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
