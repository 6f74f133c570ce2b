"""Tables for histories of changed rows: merge engines, buckets, vectors, changelog producers, formats."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from support.draws.row_pieces import (
    ARRAY,
    CHAR,
    MAP,
    ORDERED,
    STRUCT,
    VARCHAR,
    drawn_cell,
    given_text,
    limit_of,
    limited_texts,
    ordered_text,
    stored_text,
)
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
        limited: the columns that are of CHAR(n) or of VARCHAR(n), where others have numbers or STRING.
    """

    name: str
    engine: str
    options: dict[str, str]
    keys: tuple[str, ...] = ("k",)
    removes: bool = True
    producers: Sequence[str] = ("none",)
    may_have_vectors: bool = False
    limited: str = ""

    @property
    def is_across(self) -> bool:
        """Whether a key has one row in all partitions together."""
        return self.name.endswith("across partitions")


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
    Kind("limited key", "deduplicate", {"bucket": "2"}, producers=ALL_PRODUCERS, may_have_vectors=True, limited="kp"),
    Kind("limited bucket key", "append", {"bucket": "2", "bucket-key": "k"}, (), limited="kp"),
    Kind("limited partition", "append", {"bucket": "-1"}, (), limited="kp"),
    Kind("limited partition with vectors", "append", {"bucket": "-1", **VECTORS}, (), limited="kp"),
    Kind("limited sequence field", "deduplicate", {"bucket": "1", "sequence.field": "s"}, producers=ALL_PRODUCERS,
         may_have_vectors=True, limited="kps"),
    Kind("limited sequence group", "partial-update",
         {"bucket": "1", **_GROUPS, "partial-update.remove-record-on-sequence-group": "g"}, producers=ALL_PRODUCERS,
         limited="kpg"),
    Kind("limited values", "aggregation", {"bucket": "2", **_SUMS}, removes=False, producers=ALL_PRODUCERS,
         limited="kpw"),
    Kind("limited key of dynamic buckets", "deduplicate", _DYNAMIC, producers=ALL_PRODUCERS, may_have_vectors=True,
         limited="kp"),
    Kind("limited key across partitions", "deduplicate", {"bucket": "-1"}, limited="kp"),
)  # fmt: skip


@dataclass
class RowTable:
    """A table of a kind, and rows for it.

    Attributes:
        types: column -> type.
        keys, partitions, options: as it is created.
        model: what is in it.
        is_foreign: Java writes CHAR values without the blanks that Spark adds, as its core and Flink do.
    """

    kind: Kind
    types: dict[str, str]
    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    options: dict[str, str]
    model: NaiveTable
    clock: int = 0
    is_foreign: bool = False

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
            row["k"], row["p"] = self._drawn(r, "k", range(7)), self._drawn(r, "p", "xy")
            self.clock += 1
            for name, role in self.model.roles.items():
                if role in (Role.ORDER, Role.GROUP):
                    is_text = limit_of(self.types[name]) is not None
                    row[name] = ordered_text(self.types[name], self.clock) if is_text else self.clock * 100
            if r.random() < 0.2:
                for name, role in self.model.roles.items():
                    # A lone row is not merged, so that a member without its order would stay until it is.
                    row[name] = None if role in (Role.GROUP, Role.MEMBER) else row[name]
            found[tuple(row[name] for name in distinct) or number] = row
        return list(found.values())

    def _drawn(self, r: Random, name: str, values: Sequence[Any]) -> Any:
        """A value of a column that has few."""
        if limit_of(self.types[name]) is None:
            return r.choice(values)
        if "NOT NULL" not in self.types[name] and r.random() < 0.1:
            return None
        return r.choice(limited_texts(self.types[name])[: 2 * len(values)])

    def rows_of_java(self, r: Random, count: int) -> list[Values]:
        """New rows as Java writes them."""
        rows = self.rows(r, count)
        if not self.is_foreign:
            return rows
        char = [name for name, kind in self.types.items() if kind.startswith("CHAR")]
        return [row | {name: row[name] and row[name].rstrip(" ") for name in char if r.random() < 0.7} for row in rows]

    def shown(self, row: Values) -> Values:
        """A row as a query has it."""
        return {
            name: stored_text(self.types[name], value)
            if self.types[name].startswith("CHAR") and value is not None
            else value
            for name, value in row.items()
        }

    def given(self, r: Random, rows: Sequence[Values], stored: Collection[str] = ()) -> list[Values]:
        """The rows as statements give them: their texts have fewer or more blanks than are stored.

        Args:
            stored: the columns that are given as they are stored.
        """
        types = {name: "" if name in stored else kind for name, kind in self.types.items()}
        return [{name: given_text(r, types[name], value) for name, value in row.items()} for row in rows]


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
    across = kind.is_across
    if across:
        del types["w"], roles["w"]
    else:
        more = {name: type_text for name, type_text in MORE.items() if not kind.limited or limit_of(type_text)}
        types |= {name: type_text for name, type_text in more.items() if r.random() < 0.5}
        roles |= dict.fromkeys(types.keys() & MORE.keys(), Role.PLAIN)
    words = r.choice((("CHAR",), ("VARCHAR",), ("CHAR", "VARCHAR"))) if kind.limited else ()
    if words == ("VARCHAR",):  # the official connector for Spark fails at many changes of tables with a CHAR column
        types.pop("c", None), roles.pop("c", None)
    for name in kind.limited:
        limit = ORDERED if roles[name] in (Role.ORDER, Role.GROUP) else r.choice((2, 4, 5))
        may_be_null = name not in "kp" or not kind.keys
        types[name] = f"{r.choice(words)}({limit}){'' if may_be_null else ' NOT NULL'}"
    partitions = ("p",) if across or r.random() < 0.4 or "partition" in kind.name else ()
    keys = kind.keys if across or not kind.keys else (*partitions, *kind.keys)
    if "p" in keys:
        roles["p"] = Role.KEY
    options = kind.options | _drawn_options(r, kind)
    if any(types[name].startswith("CHAR") for name in "kp") and options["file.format"] == "orc":
        options["file.format"] = "parquet"  # ORC does not tell blanks at the end: keys and partitions lose theirs
    table = RowTable(kind, types, keys, partitions, options, NaiveTable(keys, kind.engine, roles))
    table.is_foreign = "CHAR" in words and options["file.format"] != "orc" and r.random() < 0.4
    return table


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
