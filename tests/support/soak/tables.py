"""The tables of a soak: one of each kind, with rows that say whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paimon_spark import create_table
from support.soak.place import Place

KEY, OWNER, VALUE, MARK, TEXT = range(5)
"""The ids of the columns that every table has; MARK is the number of the last operation that wrote the row."""

COLUMNS: Mapping[str, str] = {"k": "INT NOT NULL", "o": "INT", "v": "BIGINT", "m": "BIGINT", "s": "STRING"}
NAMES = tuple(COLUMNS)
LEAST_SNAPSHOTS = 5
"""So many snapshots no expiry takes."""
COMMON = {
    "num-sorted-run.compaction-trigger": "3",
    "compaction.min.file-num": "4",
    "manifest.merge-min-count": "8",
    "commit.max-retries": "50",
    "snapshot.num-retained.min": str(LEAST_SNAPSHOTS),
    "snapshot.time-retained": "3 min",
}
_OF_JAVA = ("upsert", "remove")
"""UPDATE, DELETE and MERGE are of the engines, not of Java itself."""
_ALL = ("upsert", "remove", "delete", "update", "merge")


@dataclass(frozen=True)
class Kind:
    """A table.

    Attributes:
        options: of it, beside COMMON.
        statements: what its writers do to it.
        has_key: whether k is its primary key.
        adds: v is summed up, and of m the greatest stays.
        fills: what a row lacks is as it was.
        is_late: readers see rows after a compaction.
        evolves: the keeper changes its columns.
        copied: a stream brings its changes into another table.
        java: only Java writes rows to it where it cannot share tables.
    """

    name: str
    options: Mapping[str, str]
    statements: tuple[str, ...] = _ALL
    has_key: bool = True
    adds: bool = False
    fills: bool = False
    is_late: bool = False
    evolves: bool = False
    copied: bool = False
    java: bool = False

    @property
    def copy(self) -> str:
        return f"{self.name}_copy"


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("keys", {"bucket": "2", "write-only": "true"}, evolves=True, copied=True),
        Kind(
            "vectors",
            {"bucket": "2", "deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
            is_late=True,
            copied=True,
        ),
        Kind("dynamic", {"bucket": "-1", "dynamic-bucket.target-row-num": "40"}, evolves=True),
        Kind(
            "sums",
            {
                "bucket": "1",
                "merge-engine": "aggregation",
                "fields.v.aggregate-function": "sum",
                "fields.m.aggregate-function": "max",
                "fields.default-aggregate-function": "last_non_null_value",
                "changelog-producer": "lookup",
            },
            ("upsert",),
            adds=True,
            copied=True,
        ),
        Kind("parts", {"bucket": "1", "merge-engine": "partial-update"}, ("upsert", "upsert", "update"), fills=True),
        Kind(
            "log",
            {"bucket": "-1", "deletion-vectors.enabled": "true"},
            ("upsert", "upsert", "delete", "update", "merge"),
            has_key=False,
            evolves=True,
        ),
        Kind("java", {"bucket": "2", "write-only": "true"}, ("upsert", "remove"), java=True),
    )
}


def tables_of(place: Place, owner: int) -> tuple[Kind, ...]:
    """The tables that a process writes rows to."""
    if owner == place.java:
        plain = (kind for kind in KINDS.values() if kind.java or (place.shared_with_java and _is_plain(kind)))
        return tuple(replace(kind, statements=tuple(s for s in kind.statements if s in _OF_JAVA)) for kind in plain)
    return tuple(kind for kind in KINDS.values() if not kind.java)


def _is_plain(kind: Kind) -> bool:
    """True if Java itself, without an engine, writes to such a table as the engines do."""
    return kind.has_key and not kind.is_late and kind.name != "dynamic"


def create_all(place: Place) -> None:
    """Makes the tables that the owners write, and those that streams write; those of an earlier run stay."""
    for kind in KINDS.values():
        if kind.java and place.java is None:
            continue
        keys = "k" if kind.has_key else ()
        options = {**kind.options, **COMMON, **place.options}
        create_table(place.location(kind.name), COLUMNS, keys, options=options, ignore_if_exists=True)
        if kind.copied:
            options = {"bucket": "1", **COMMON, **place.options}
            create_table(place.location(kind.copy), COLUMNS, "k", options=options, ignore_if_exists=True)


def written_tables(place: Place) -> tuple[Kind, ...]:
    """All tables that owners write rows to."""
    return tuple(kind for kind in KINDS.values() if place.java is not None or not kind.java)
