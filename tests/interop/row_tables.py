"""Tables for histories of changed rows: merge engines, buckets, vectors, changelog producers, formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from support.draws.row_pieces import ARRAY, CHAR, MAP, STRUCT, VARCHAR, drawn_cell
from support.oracles.naive_table import NaiveTable, Role, Values

COLUMNS = {"k": "INT NOT NULL", "p": "STRING NOT NULL", "v": "INT", "w": "STRING"}
MORE = {"a": ARRAY, "m": MAP, "o": STRUCT, "c": CHAR, "u": VARCHAR}
"""Columns that some tables have too."""
STORED: dict[str, Any] = {
    ARRAY: {"type": "ARRAY", "element": "INT"},
    MAP: {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"},
    STRUCT: {
        "type": "ROW",
        "fields": [{"id": 90, "name": "x", "type": "INT"}, {"id": 91, "name": "y", "type": "STRING"}],
    },
}
"""Types of SQL as a schema file writes them."""
ALL_PRODUCERS = ("none", "input", "lookup", "full-compaction")
REMOVES = "partial-update.remove-record-on-delete"
VECTORS = {"deletion-vectors.enabled": "true"}


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes:
        name: for the report.
        engine: of NaiveTable.
        options: that all tables of the kind have.
        keys: the primary key.
        removes: whether a row of kind -D removes a row.
        producers: changelog producers to draw from.
        may_have_vectors: whether some tables of the kind hide rows by vectors.
    """

    name: str
    engine: str
    options: dict[str, str]
    keys: tuple[str, ...] = ("k",)
    removes: bool = True
    producers: Sequence[str] = ("none",)
    may_have_vectors: bool = False


_SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.w.aggregate-function": "max"}
_GROUPS = {"merge-engine": "partial-update", "fields.g.sequence-group": "v"}
_DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}
KINDS = (
    Kind("deduplicate", "deduplicate", {"bucket": "2"}, producers=ALL_PRODUCERS, may_have_vectors=True),
    Kind("append", "append", {"bucket": "-1"}, ()),
    Kind("partial-update", "partial-update", {"bucket": "2", "merge-engine": "partial-update", REMOVES: "true"},
         producers=ALL_PRODUCERS, may_have_vectors=True),
    Kind("append with vectors", "append", {"bucket": "-1", **VECTORS}, ()),
    Kind("dynamic buckets", "deduplicate", _DYNAMIC, producers=ALL_PRODUCERS, may_have_vectors=True),
    Kind("append with buckets", "append", {"bucket": "2", "bucket-key": "k"}, ()),
    Kind("aggregation", "aggregation", {"bucket": "2", **_SUMS}, removes=False, producers=ALL_PRODUCERS,
         may_have_vectors=True),
    Kind("append with buckets and vectors", "append", {"bucket": "2", "bucket-key": "k", **VECTORS}, ()),
    Kind("first-row", "first-row", {"bucket": "2", "merge-engine": "first-row"}, removes=False,
         producers=("none", "lookup")),
    Kind("sequence field", "deduplicate", {"bucket": "1", "sequence.field": "s"}, producers=ALL_PRODUCERS,
         may_have_vectors=True),
    Kind("sequence group", "partial-update",
         {"bucket": "1", **_GROUPS, "partial-update.remove-record-on-sequence-group": "g"}, producers=ALL_PRODUCERS),
    Kind("partial-update that keeps rows", "partial-update", {"bucket": "1", "merge-engine": "partial-update"},
         removes=False, producers=ALL_PRODUCERS, may_have_vectors=True),
    Kind("aggregation that removes", "aggregation",
         {"bucket": "1", **_SUMS, "aggregation.remove-record-on-delete": "true"}, producers=ALL_PRODUCERS),
    Kind("postponed", "deduplicate", {"bucket": "-2", "postpone.default-bucket-num": "2"}),
    Kind("postponed sums", "aggregation", {"bucket": "-2", "postpone.default-bucket-num": "2", **_SUMS},
         removes=False),
    Kind("dynamic sums", "aggregation", {**_SUMS, **_DYNAMIC}, removes=False, producers=ALL_PRODUCERS),
    Kind("across partitions", "deduplicate", {"bucket": "-1"}),
)  # fmt: skip


@dataclass
class RowTable:
    """A table of a kind, and rows for it.

    Attributes:
        types: column -> type.
        keys, partitions, options: as it is created.
        model: what is in it.
    """

    kind: Kind
    types: dict[str, str]
    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    options: dict[str, str]
    model: NaiveTable
    clock: int = 0

    @property
    def stored_types(self) -> dict[str, Any]:
        """The types as a schema file writes them."""
        return {name: STORED.get(kind, kind) for name, kind in self.types.items()}

    @property
    def producer(self) -> str:
        return self.options.get("changelog-producer", "none")

    @property
    def has_vectors(self) -> bool:
        return self.options.get("deletion-vectors.enabled") == "true"

    @property
    def hides_new_files(self) -> bool:
        """Whether rows are visible only once they are compacted."""
        return self.kind.engine == "first-row" or (self.has_vectors and bool(self.keys))

    @property
    def settable(self) -> list[str]:
        """The columns that an UPDATE may assign."""
        return [name for name in self.types if name not in self.keys]

    @property
    def free(self) -> list[str]:
        """The columns that may be renamed."""
        return [name for name in self.types if name not in ("k", "p")]

    def rows(self, r: Random, count: int, distinct: Sequence[str] = ()) -> list[Values]:
        """New rows; distinct: columns in which no two are equal."""
        found: dict[Any, Values] = {}
        for number in range(count):
            row = {name: drawn_cell(r, type_text) for name, type_text in self.types.items()}
            row["k"], row["p"] = r.randrange(7), r.choice("xy")
            self.clock += 100
            for name, role in self.model.roles.items():
                if role in (Role.ORDER, Role.GROUP):
                    row[name] = self.clock
            if r.random() < 0.2:
                for name, role in self.model.roles.items():
                    # A lone row is not merged, so that a member without its order would stay until it is.
                    row[name] = None if role in (Role.GROUP, Role.MEMBER) else row[name]
            found[tuple(row[name] for name in distinct) or number] = row
        return list(found.values())


def draw_table(r: Random, kind: Kind) -> RowTable:
    """A table of a kind."""
    types = dict(COLUMNS)
    roles = {"k": Role.KEY, "p": Role.PLAIN, "v": Role.PLAIN, "w": Role.PLAIN}
    if kind.engine == "aggregation":
        roles |= {"v": Role.SUM, "w": Role.MAX}
    if "sequence.field" in kind.options:
        types["s"], roles["s"] = "INT", Role.ORDER
    if "fields.g.sequence-group" in kind.options:
        types["g"], roles["g"], roles["v"] = "INT", Role.GROUP, Role.MEMBER
    across = kind.name == "across partitions"
    if across:
        del types["w"], roles["w"]
    else:
        types |= {name: kind for name, kind in MORE.items() if r.random() < 0.5}
        roles |= dict.fromkeys(types.keys() & MORE.keys(), Role.PLAIN)
    partitions = ("p",) if across or r.random() < 0.4 else ()
    keys = kind.keys if across or not kind.keys else (*partitions, *kind.keys)
    if "p" in keys:
        roles["p"] = Role.KEY
    options = kind.options | _drawn_options(r, kind)
    return RowTable(kind, types, keys, partitions, options, NaiveTable(keys, kind.engine, roles))


def _drawn_options(r: Random, kind: Kind) -> dict[str, str]:
    producer = r.choice(list(kind.producers))
    options = {"file.format": r.choice(("parquet", "parquet", "orc", "avro")), "changelog-producer": producer}
    if kind.keys:
        options["num-sorted-run.compaction-trigger"] = r.choice(("2", "3", "5"))
    if producer != "none":
        options["delete.force-produce-changelog"] = "true"
    if kind.may_have_vectors and producer != "full-compaction" and r.random() < 0.4:
        options |= VECTORS
    if options.get("deletion-vectors.enabled", kind.options.get("deletion-vectors.enabled")) == "true":
        options["deletion-vectors.bitmap64"] = r.choice(("true", "false"))
    if r.random() < 0.2:
        options["target-file-size"] = "1 kb"
    return options
