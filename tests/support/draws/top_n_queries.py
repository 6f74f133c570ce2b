"""Random queries with ORDER BY and LIMIT, over a table of random columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

TABLE = "{table}"
"""What stands in a text for the table."""
_LAST = "{last}"
_SETTINGS = (
    ("spark.sql.caseSensitive", "true"),
    ("spark.sql.ansi.enabled", "false"),
    ("spark.sql.orderByOrdinal", "false"),
    ("spark.sql.stableDerivedColumnAlias.enabled", "true"),
    ("spark.sql.ansi.doubleQuotedIdentifiers", "true"),
    ("spark.sql.session.timeZone", "America/New_York"),
    ("spark.paimon.read.local", "false"),
)
_CONDITIONS: Mapping[str, Sequence[str]] = {
    "p": (
        "p = 'b'", "p <> 'a'", "p IN ('a', 'ü')", "p LIKE 'a%'", "p IS NULL", "p IS NOT NULL", "p > '1'", "p = 10",
        "upper(p) = 'A'", "p <=> NULL", "NOT (p = 'a' AND p < 'b')", "length(p) = 0", "p = ''", "p = :p",
        "p BETWEEN 'a' AND 'b'", "(p = 'a' OR p = 'b')", "NOT p IN ('a', NULL)", "p || 'x' = 'ax'", "'b' <= p",
    ),
    "q": (
        "q = 0", "q > -1", "q <> 7", "q IN (0, 10, NULL)", "q = '7'", "q < 7.5", "q IS NULL", "NOT q = 0", "q % 2 = 0",
        "q = 10 OR q IS NULL", "q >= :n", "q < 2147483648", "CAST(q AS STRING) = '10'", "-q = 1", "q = 7.0D",
    ),
    "day": (
        "day > DATE'1582-10-14'", "day = '1970-01-01'", "day < TIMESTAMP'2019-01-01 00:00:00'", "day IS NULL",
        "year(day) = 1970", "day IN (DATE'1970-01-01')", "day <> DATE'1970-01-01'", "day >= '1970'",
    ),
    "f": ("f = 0", "f > 1", "f = double('NaN')", "f <> 1.5", "f >= 0.0D", "f IN (-0.0D, 1.5D)", "f IS NULL", "f < 0.1"),
    "flag": ("flag", "NOT flag", "flag = true", "flag IS NULL", "flag IS NOT TRUE", "flag <> false", "flag = 'true'"),
    "z": (
        "z >= TIMESTAMP'1970-01-01 00:00:00'", "z < '2020-09-13 12:26:40.000001'", "z IS NULL", "z > '1970-01-01'",
        "z <> TIMESTAMP'1970-01-01 00:00:00Z'", "z > DATE'1970-01-01'", "z = TIMESTAMP_NTZ'1970-01-01 00:00:00'",
    ),
    "num": ("num = 1.1", "num > 0", "num < 1e0", "num <> -0.01", "num = '1.10'", "num IN (1.1, NULL)", "num = 1.104"),
}  # fmt: skip
_OTHER_CONDITIONS = (
    "id > 30", "a IS NOT NULL", "rand() >= 0", "1 = 1", "1 = 0", f"id IN (SELECT max(id) FROM {TABLE})", "true", "NULL",
    "EXISTS (SELECT 1)", "id % 3 = 1", "a = b", "(id > 10 AND id < 90)",
)  # fmt: skip
ARGS: Mapping[str, object] = {"p": "a", "n": 3, "i": "id", "m": 2}


@dataclass(frozen=True)
class LeadingQuery:
    """A query.

    Attributes:
        text: with ``{table}`` for the table.
        state: the snapshot that it reads; None: the latest one.
        ordered: the query of all rows, see all_rows; None: the result may come in any order, but has no other rows.
        offset: of the query, where ordered is given.
        settings: of the session.
    """

    text: str
    state: int | None = None
    ordered: str | None = None
    offset: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)

    def all_rows(self, direction: str) -> str:
        """The same without LIMIT and OFFSET. Its last column is unique, and orders rows that the order leaves alike.

        Args:
            direction: ``ASC`` or ``DESC``, of the last column.
        """
        assert self.ordered is not None
        return self.ordered.replace(_LAST, direction)


def draw_query(
    random: Random, table: str, columns: Sequence[str], states: Sequence[int], struct: str | None
) -> LeadingQuery:
    """A query of a table.

    Args:
        random: draws.
        table: the name of the table, which may stand before columns.
        columns: of the table; ``id`` is another number in every row.
        states: the snapshots of the table.
        struct: a column that is a struct.
    """
    drawn = _Drawing(random, table, columns, states, struct).query()
    chosen = {key: value for key, value in _SETTINGS if random.random() < 0.04}
    return LeadingQuery(drawn.text, drawn.state, drawn.ordered, drawn.offset, chosen)


def _quoted(random: Random, name: str) -> str:
    is_plain = name.isidentifier() and name.isascii() and name not in ("all", "true", "null", "limit")
    if not is_plain or random.random() < 0.15:
        return f"`{name}`"
    return name.upper() if random.random() < 0.1 else name


class _Drawing:
    """One query being drawn."""

    def __init__(
        self, random: Random, table: str, columns: Sequence[str], states: Sequence[int], struct: str | None
    ) -> None:
        self.random = random
        self.columns = list(columns)
        self.states = states
        self.struct = struct if struct in columns else None
        self.qualifier = table
        self.unique = "id"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self) -> str:
        return _quoted(self.random, self.random.choice(self.columns))

    def column(self) -> str:
        name = self.name()
        return f"{self.qualifier}.{name}" if self.chance(0.2) else name

    def relation(self) -> tuple[str, int | None]:
        """What stands behind FROM, and the state that is read."""
        shape, state = self.random.random(), None
        text = TABLE
        if shape < 0.08:
            state = self.random.choice(self.states)
            text = f"{TABLE}@"
        if shape < 0.5:
            self.qualifier = self.random.choice(["x", "x", "t", "s", self.struct or "y"])
            return f"{text} {self.pick('', 'AS ')}{self.qualifier}", state
        if shape < 0.56:
            self.qualifier = "x"
            return f"{TABLE} AS x({self.other_names()})", None
        if shape > 0.9:
            self.qualifier = "x"
            source = self.pick(
                f"({TABLE}) x",
                f"(SELECT * FROM {TABLE}) x",
                f"{TABLE} TABLESAMPLE (100 PERCENT) x",
                f"{TABLE} x LATERAL VIEW explode(array(1)) e AS y",
                f"{TABLE} x JOIN (VALUES (1)) v(w) ON v.w = 1",
                f"{TABLE} x, LATERAL (SELECT x.id + 1 AS w)",
                f"(SELECT * FROM {TABLE} ORDER BY {self.name()}{self.direction()}, id LIMIT 40) x",
                f"(SELECT * FROM {TABLE} ORDER BY {self.name()}{self.direction()}, id LIMIT 8 OFFSET 2) x",
                f"(SELECT * FROM {TABLE} LIMIT ALL) x",
            )
            return source, None
        return text, state

    def other_names(self) -> str:
        """The names of the columns in another order, for an alias that gives them by their place."""
        names = list(self.columns)
        self.random.shuffle(names)
        self.unique = names[self.columns.index("id")]
        return ", ".join(f"`{name}`" for name in names)

    def direction(self) -> str:
        return self.pick("", "", " ASC", " DESC", " DESC", " NULLS LAST", " DESC NULLS FIRST", " ASC NULLS LAST")

    def item(self) -> str:
        """An item of a select list."""
        random, shape = self.random, self.random.random()
        if shape < 0.6:
            return self.column()
        alias = _quoted(random, random.choice([name for name in self.columns if name != self.unique]))
        if shape < 0.68:
            return f"{self.column()}{self.pick(' ', ' AS ')}{alias}"
        if shape < 0.77 and self.struct is not None:
            struct, inner = f"`{self.struct}`", self.pick("a", "c", "id")
            parts = (
                f"({struct}.{inner})", f"{struct}.{inner}", f"{struct} AS {self.qualifier}", f"({struct})", struct,
                f"{struct}['{inner}']", f"(({struct}).{inner})", f"{struct}.*", f"CAST(({struct}.{inner}) AS STRING)",
                f"{struct} AS y, (y.{inner})", f"{self.qualifier}.{struct}", f"{self.qualifier}.{struct}.{inner}",
            )  # fmt: skip
            return self.pick(*parts)
        column = self.column()
        if shape < 0.95:
            items = (
                f"({column})", f"CAST({column} AS STRING)", f"(CAST({column} AS STRING))", f"{column}::STRING",
                f"CAST(({column}) AS STRING) AS {alias}", f"CAST(({column}) AS STRING)", f"-id AS {alias}",
                f"- id {alias}", f"upper(CAST({column} AS STRING))", f"{column} IS NULL AS {alias}",
                f"coalesce({column}, NULL) AS {alias}", "true", "NULL", "'a'", "1", "('a')", "'i' 'd'", ":i",
                f"CASE WHEN id % 2 = 0 THEN {column} END", f"IF(id > 9, {column}, NULL) AS {alias}", "id + 1",
                "upper(a)",
            )  # fmt: skip
            return self.pick(*items)
        return self.pick(
            f"row_number() OVER (ORDER BY `{self.unique}` DESC) AS rn", "explode(array(id)) AS e", "count(*)",
            "max(id)", "struct(-id AS a, id AS b).a", f"named_struct('a', -id).a AS {alias}",
            "monotonically_increasing_id() >= 0", "count(*) OVER () AS n2",
            f"first_value({column}) OVER (ORDER BY `{self.unique}` DESC) AS {alias}",
        )  # fmt: skip

    def items(self) -> str:
        shape = self.random.random()
        if shape < 0.25:
            return self.pick("*", f"{self.qualifier}.*")
        if shape < 0.32:
            return f"* EXCEPT ({self.name()})"
        if shape < 0.38:
            return f"*, {self.item()}"
        return ", ".join(self.item() for _ in range(self.random.randint(1, 4)))

    def condition(self) -> str:
        parts = [name for name in self.columns if name in _CONDITIONS]
        if self.chance(0.6) or not parts:
            return "" if self.chance(0.9) else f" WHERE {self.pick(*_OTHER_CONDITIONS)}"
        name = self.random.choice(parts)
        text = self.pick(*_CONDITIONS[name])
        if self.chance(0.3):
            other = self.random.choice(parts)
            more = (
                self.pick(*_CONDITIONS[other], *_OTHER_CONDITIONS)
                if self.chance(0.5)
                else self.pick(*_CONDITIONS[other])
            )
            text = f"{text} {self.pick('AND', 'AND', 'OR')} {more}"
            text = f"({text})" if self.chance(0.2) else text
        return f" WHERE {text}"

    def key(self) -> str:
        """The first key of the order."""
        shape = self.random.random()
        if shape < 0.8:
            return self.column()
        if shape < 0.87:
            return self.pick("1", "2", "ALL") if self.chance(0.5) else self.unique
        return self.pick(
            f"({self.column()})", f"-{self.column()}", f"CAST({self.column()} AS STRING)", f"{self.column()} IS NULL",
            f"{self.name()} COLLATE UTF8_LCASE", f"`{self.struct}`.a", f"upper({self.name()})", "length(a)",
            f"{self.qualifier}.`{self.struct}`.c", "`upper(a)`", "`true`", "lower(:i)",
        )  # fmt: skip

    def limit(self) -> tuple[str, int]:
        """The text of LIMIT and OFFSET, and the number behind OFFSET."""
        count = self.random.choice([1, 1, 1, 2, 2, 3, 3, 5, 9, 20, 0, 1000])
        offset = self.random.choice([0, 0, 0, 0, 1, 4, 20])
        text = f" LIMIT {count}"
        if count == 3:
            text = self.pick(" LIMIT 3", " LIMIT :n", " LIMIT 1 + 2", " LIMIT int(3.0)")
        skipped = f" OFFSET {offset}" if offset else ""
        if offset == 1:
            skipped = self.pick(" OFFSET 1", " OFFSET 2 - 1")
        return f"{text}{skipped}", offset

    def query(self) -> LeadingQuery:
        shape = self.random.random()
        if shape < 0.06:
            return self.grouped()
        source, state = self.relation()
        if shape < 0.25:
            return self.wrapped(source, state)
        hint = self.pick(" /*+ REPARTITION(2) */", " ALL") if self.chance(0.04) else ""
        more = "".join(f", {self.column()}{self.direction()}" for _ in range(self.random.choice([0, 0, 0, 1, 2])))
        items = f"SELECT{hint} {self.items()}"
        rest = f"{self.condition()} ORDER BY {self.key()}{self.direction()}{more}"
        limit, offset = self.limit()
        text = f"FROM {source} {items}{rest}{limit}" if self.chance(0.03) else f"{items} FROM {source}{rest}{limit}"
        unique = f"{self.qualifier}.`{self.unique}`"
        return LeadingQuery(text, state, f"{items}, {unique} AS unique__ FROM {source}{rest}, unique__ {_LAST}", offset)

    def wrapped(self, source: str, state: int | None) -> LeadingQuery:
        """A query in another one; of all rows the order is known."""
        last = f", `{self.unique}`"
        inner = f"SELECT {self.items()} FROM {source}{self.condition()} ORDER BY {self.key()}{self.direction()}{last}"
        inner += self.limit()[0]
        again = f"SELECT id FROM {TABLE} ORDER BY {self.name()}{self.direction()}, id{self.limit()[0]}"
        text = self.pick(
            f"SELECT * FROM ({inner})",
            f"SELECT count(*) FROM ({inner})",
            f"WITH w AS ({inner}) SELECT * FROM w",
            f"WITH w AS ({inner}) SELECT * FROM w UNION ALL SELECT * FROM w",
            f"SELECT DISTINCT * FROM ({inner})",
            f"({inner}) UNION ALL ({inner})",
            f"SELECT max(id), min(id), count(*) FROM ({again})",
            f"SELECT id FROM {TABLE} WHERE id IN ({again})",
            f"SELECT id FROM {TABLE} WHERE id NOT IN ({again})",
            f"SELECT a.id FROM ({again}) a JOIN ({again}) b ON a.id = b.id",
            f"SELECT (SELECT id FROM {TABLE} ORDER BY {self.name()}{self.direction()}, id LIMIT 1) AS one",
            "SELECT v.w, l.id FROM VALUES (1), (5) v(w), "
            f"LATERAL (SELECT id FROM {TABLE} x WHERE x.id > v.w ORDER BY id LIMIT 2) l",
            f"FROM {TABLE} |> ORDER BY {self.name()}{self.direction()}, id |> LIMIT 4 |> SELECT id",
            f"FROM {TABLE} |> SELECT -id AS id, a |> ORDER BY id |> LIMIT 4",
            f"({again}) ORDER BY id DESC LIMIT 2",
            f"(SELECT id FROM {TABLE}) ORDER BY id DESC LIMIT 2",
            f"SELECT id FROM {TABLE} UNION ALL SELECT -7L ORDER BY id LIMIT 3",
            f"SELECT id FROM {TABLE} EXCEPT ({again})",
            f"SELECT x.id FROM {TABLE} x LEFT SEMI JOIN ({again}) y ON x.id = y.id",
        )
        return LeadingQuery(text, state)

    def grouped(self) -> LeadingQuery:
        column = self.name()
        end = f"ORDER BY {column}{self.direction()}{self.limit()[0]}"
        text = self.pick(
            f"SELECT DISTINCT {column} FROM {TABLE} {end}",
            f"SELECT {column}, count(*) FROM {TABLE} GROUP BY {column} {end}",
            f"SELECT {column}, max(id) FROM {TABLE} GROUP BY ALL HAVING count(*) > 1 {end}",
            f"SELECT max({column}) AS {column} FROM {TABLE} {end}",
            f"SELECT count(*), max(id) FROM {TABLE} ORDER BY 1 LIMIT 1",
        )
        return LeadingQuery(text)
