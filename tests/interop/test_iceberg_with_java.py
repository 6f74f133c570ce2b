"""The official system and we write one table with Iceberg metadata in turn, and each goes on from the other's.

``PAIMON_ICEBERG_JAVA`` sets how many tables are tried, each by its number as seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from genuine import Genuine
from iceberg_histories import IcebergHistory
from iceberg_readers import PyIceberg, newest
from random_tables import Shape
from readers import telling
from support.long_runs import tries

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_ICEBERG_JAVA", ci=3, long=20)
STEPS = 10


class InTurn(IcebergHistory):
    """A history whose steps are by us or by Java."""

    def __init__(self, seed: int, warehouse: str, java: Genuine) -> None:
        super().__init__(seed, warehouse, [PyIceberg()])
        self.java = java

    def _random_shape(self, options: dict[str, str]) -> Shape:
        """Java 2.0.0 fails where all files of a manifest have a null in a partition column."""
        shape = super()._random_shape(options)
        for column in shape.columns:
            column.nullable = column.nullable and column.name not in shape.partitions
        return shape

    def run(self) -> None:
        self._append()
        for _ in range(STEPS):
            step = self.random.choice(self._steps())
            self.log.append(step.__name__)
            before = self._identity()
            step()
            self._check()
            assert self._identity() == before

    def _steps(self) -> list[Callable[[], None]]:
        ours = [self._append, self._append, self._compact, self._compact, self._overwrite, self._delete, self._alter]
        return [
            *ours,
            self._java_appends,
            self._java_appends,
            self._java_appends,
            self._java_compacts,
            self._java_overwrites,
        ]

    def _identity(self) -> tuple[str, str]:
        """What stays the same as long as each writer goes on from the metadata of the other."""
        json_ = json.loads(Path(newest(self.table)).read_text())
        return json_["table-uuid"], json_["location"]

    def _java_appends(self) -> None:
        rows = self.shape.rows(self.random, self.random.randint(1, 20))
        self.java.write(self.path, rows, ["+I"] * len(rows))
        self.shown = None

    def _java_compacts(self) -> None:
        self.java.compact(self.path, True)
        self.log[-1] = "_compact by Java"
        self.shown = None

    def _java_overwrites(self) -> None:
        self.java.write(self.path, self.shape.rows(self.random, 5), overwrite={})
        self.shown = None


@pytest.mark.parametrize("seed", range(COUNT))
def test_each_goes_on_from_the_metadata_of_the_other(seed: int, java: Genuine, tmp_path: Path) -> None:
    history = InTurn(seed, str(tmp_path), java)
    with telling(history.log):
        history.run()
