"""Random changes of schemas by the genuine Java and by us: the same schema files, and the same refusals."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import java_changes
import pytest
from genuine import Genuine
from support.long_runs import tries

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table

pytestmark = pytest.mark.interop

STRUCT = {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}, {"id": 1, "name": "y", "type": "STRING"}]}
COLUMNS = {
    "k": "INT NOT NULL", "p": "STRING", "n": "INT", "t": "STRING", "d": "DECIMAL(10, 2)", "ts": "TIMESTAMP(6)",
    "s": STRUCT, "a": {"type": "ARRAY", "element": STRUCT}, "l": {"type": "ARRAY", "element": "INT"},
    "m": {"type": "MAP", "key": "STRING NOT NULL", "value": {"type": "ARRAY", "element": "SMALLINT"}},
}  # fmt: skip
SCALARS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12, 3)", "CHAR(3)", "VARCHAR(5)",
    "STRING", "BINARY(4)", "BYTES", "DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "INT NOT NULL",
)  # fmt: skip
TABLES: tuple[tuple[tuple[str, ...], tuple[str, ...], dict[str, str]], ...] = (
    ((), (), {"bucket": "-1"}),
    ((), ("p",), {"bucket": "2", "bucket-key": "n", "add-column-before-partition": "true"}),
    (("k",), (), {"bucket": "2", "sequence.field": "n", "disable-explicit-type-casting": "true"}),
    (("p", "k"), ("p",), {"bucket": "1", "alter-column-null-to-not-null.disabled": "false"}),
    (("k",), (), {"bucket": "1", "merge-engine": "partial-update", "fields.n.sequence-group": "t,d"}),
    (("k",), (), {"bucket": "1", "merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}),
    (("k",), (), {"bucket": "-1", "deletion-vectors.enabled": "true"}),
)
PATHS = (
    ("k",), ("p",), ("n",), ("t",), ("d",), ("ts",), ("s",), ("a",), ("l",), ("m",), ("s", "x"), ("s", "y"),
    ("a", "element", "x"), ("l", "element"), ("m", "value", "element"), ("z",), ("s", "z"), ("new",), ("z", "x"),
)  # fmt: skip
OPTIONS = (
    ("bucket", ("1", "2", "4", "-1")), ("bucket-key", ("k", "n", "n,t")), ("sequence.field", ("n", "t", "zz")),
    ("snapshot.num-retained.min", ("2", "0")), ("merge-engine", ("deduplicate", "first-row")),
    ("deletion-vectors.enabled", ("true", "false")), ("deletion-vectors.modifiable", ("true",)),
    ("ignore-delete", ("true", "false")), ("fields.t.stats-mode", ("none",)),
    ("changelog-producer", ("lookup", "none")),
    ("primary-key", ("k", "n")), ("type", ("TABLE", "format-table")), ("file.format", ("orc", "parquet", "avro")),
    ("record-level.time-field", ("ts", "t")), ("partition", ("p",)), ("write-only", ("true",)),
)  # fmt: skip


def template(path: Path, number: int) -> None:
    """A table of TABLES, with its columns numbered."""
    keys, partitions, options = TABLES[number]
    fields = [DataField(0, name, parse_type(text)) for name, text in COLUMNS.items()]
    fields = [DataField(0, f.name, f.type.with_nullable(f.type.nullable and f.name not in keys)) for f in fields]
    numbered, highest = assign_field_ids(fields)
    create_table(str(path), TableSchema(0, numbered, highest, partitions, keys, options))


def draw(rng: random.Random) -> c.SchemaChange:
    path = rng.choice(PATHS)
    place = rng.choice(list(c.Place))
    reference = rng.choice("kptnsxy") if place in (c.Place.AFTER, c.Place.BEFORE) else None
    kinds = (c.AddColumn, c.RenameColumn, c.DropColumn, c.UpdateType, c.UpdateNullable, c.UpdateComment,
             c.UpdateDefault, c.MoveColumn, c.SetOption, c.UnsetOption, c.SetTableComment,
             c.DropPrimaryKey)  # fmt: skip
    kind = rng.choices(kinds, (5, 4, 3, 8, 3, 2, 3, 3, 5, 3, 1, 1))[0]
    if kind is c.AddColumn:
        text = rng.choice((*SCALARS, STRUCT, {"type": "ARRAY", "element": STRUCT}))
        parent = rng.choice(((), (), ("s",), ("a", "element"), ("n",)))
        position = rng.choice((None, c.Position(place, reference)))
        return c.AddColumn(
            (*parent, rng.choice(("z", "new", "x"))), parse_type(text), rng.choice((None, "hi")), position
        )
    if kind is c.RenameColumn:
        return c.RenameColumn(path, rng.choice(("z", "new", "x", "n")))
    if kind is c.UpdateType:
        return c.UpdateType(path, parse_type(rng.choice(SCALARS)), rng.random() < 0.8)
    if kind is c.UpdateNullable:
        return c.UpdateNullable(path, rng.random() < 0.5)
    if kind is c.UpdateComment:
        return c.UpdateComment(path, rng.choice((None, "said")))
    if kind is c.UpdateDefault:
        return c.UpdateDefault(path[:1], rng.choice((None, "5", "'5'", "no", "2024-01-01", "true")))
    if kind is c.MoveColumn:
        return c.MoveColumn(path[:1], c.Position(place, reference))
    if kind in (c.SetOption, c.UnsetOption):
        key, values = rng.choice(OPTIONS)
        return c.SetOption(key, rng.choice(values)) if kind is c.SetOption else c.UnsetOption(key)
    return c.SetTableComment(rng.choice((None, "about"))) if kind is c.SetTableComment else c.DropPrimaryKey()


def schema_json(path: Path) -> object:
    """The latest schema file without what may differ: its time, and its id where nothing changed."""
    ids = sorted(int(file.name.removeprefix("schema-")) for file in (path / "schema").iterdir())
    found = json.loads((path / "schema" / f"schema-{ids[-1]}").read_text())
    return {key: value for key, value in found.items() if key not in ("timeMillis", "id")}


STRICTER = (
    "which has no fields",  # Java publishes a schema without the column that was to be added
    "cannot unset the option 'deletion-vectors.enabled'",  # release 2.0.0 forgets it, later ones refuse it
    "the table has the primary key",  # Java lets a later change of the same call drop it
    "cannot have the aggregate function",  # Java finds it when rows are written
    "there is no cast",
    "as a whole",  # field ids of the new type would be made up
)
"""Parts of our refusals of what Java 2.0.0 accepts, and makes a schema of that says something else."""


def is_stricter(changes: Sequence[c.SchemaChange], error: str | None) -> bool:
    """True if we refuse by name what Java takes for a change of something else."""
    inside = any(change.path[-1] == "element" for change in changes if isinstance(change, c.ColumnChange))
    return error is not None and (inside or any(words in error for words in STRICTER))


LAXER = (
    "Duplicate key",  # Java takes two renamed fields of one struct for one column
    "should contains all bucket keys",  # it looks at a primary key that a later change of the same call drops
)
"""Parts of Java's refusals of what does no harm."""


def is_laxer(error: str | None) -> bool:
    """True if Java refuses what we do."""
    return error is not None and any(words in error for words in LAXER)


def changes_keys(changes: Sequence[c.SchemaChange]) -> bool:
    """True if a change gives or takes keys: Java looks at the old keys for the other changes of the call."""
    keys = ("primary-key", "partition")
    return len(changes) > 1 and any(
        isinstance(change, c.DropPrimaryKey) or (isinstance(change, c.SetOption) and change.key in keys)
        for change in changes
    )


def test_both_make_the_same_of_random_changes(java: Genuine, tmp_path: Path) -> None:
    rng = random.Random(tries("PAIMON_ALTERS_SEED", 7))
    count = tries("PAIMON_ALTERS", 400, 4000)
    for number in range(len(TABLES)):
        template(tmp_path / f"empty{number}", number)
        shutil.copytree(tmp_path / f"empty{number}", tmp_path / f"full{number}")
        java.write(str(tmp_path / f"full{number}"), [(1, "p", 1, "t", None, None, None, None, None, None)])
    cases = []
    for case in range(count):
        source = tmp_path / f"{rng.choice(('empty', 'full'))}{rng.randrange(len(TABLES))}"
        mine, theirs = tmp_path / f"{case}ours", tmp_path / f"{case}java"
        shutil.copytree(source, mine)
        shutil.copytree(source, theirs)
        cases.append((source, mine, theirs, tuple(draw(rng) for _ in range(rng.choice((1, 1, 1, 2, 3))))))
    errors = java.run(java_changes.alter_all, [(str(theirs), changes) for _, _, theirs, changes in cases])
    unlike, made = [], 0
    for (source, mine, theirs, changes), java_error in zip(cases, errors, strict=True):
        our_error = None
        try:
            alter_table(open_table(str(mine)), changes)
        except (SchemaError, OptionError, UnsupportedFeature) as error:
            our_error = str(error)
        same = schema_json(mine) == schema_json(theirs)
        made += java_error is None
        if (our_error is None) != (java_error is None) or not same:
            stricter = java_error is None and is_stricter(changes, our_error)
            allowed = is_laxer(java_error) if our_error is None else stricter
            if not allowed and not (changes_keys(changes) and (our_error is None) != (java_error is None)):
                shown = our_error or ("" if same else f"{schema_json(mine)} {schema_json(theirs)}")
                unlike.append((source.name, [str(x) for x in changes], java_error, shown))
    assert not unlike, "\n".join(map(str, unlike))
    assert made > count / 5
