"""What object tables and format tables have in common: rows in files that no snapshot names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import UnsupportedFeature, UnsupportedMethod
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table

_STATES = ("scan.", "incremental-")


@dataclass(frozen=True, repr=False)
class FileTable:
    """An open table of files; picklable.

    Attributes:
        table: its schema, options and location, and the store of its files.
    """

    table_kind: ClassVar[TableKind]
    called: ClassVar[str]
    offers: ClassVar[str]
    """What it has, for the message about a method that it lacks."""
    rows_are: ClassVar[str]

    table: Table

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # as pickle asks for
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'", name=name, obj=self)
        raise UnsupportedMethod(f"{self.location} is {self.called}, which has no '{name}': {self.offers}")

    @property
    def kind(self) -> str:
        return str(self.table_kind)

    @property
    def location(self) -> str:
        """The directory of its files."""
        return self.table.location

    @property
    def hidden_fields(self) -> tuple[DataField, ...]:
        """None: the metadata columns are those of tables with snapshots."""
        return ()

    @property
    def time_zone(self) -> TimeZone | None:
        return self.table.time_zone

    def refuse_states(self, options: Mapping[str, str]) -> None:
        """Refuses the options of a call that ask for a state.

        Raises:
            UnsupportedFeature: one does.
        """
        for key, value in options.items():
            if key.lower().startswith(_STATES):
                raise UnsupportedFeature(
                    f"reading {self.location} with '{key}' = '{value}': {self.called} has no snapshots, its rows are "
                    f"{self.rows_are} that are there now; leave the version or time out"
                )
