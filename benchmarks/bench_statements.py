"""Small statements as a user types them, by ``cat.sql`` beside the JVM connector: medians of warm sessions.

Both sessions run all the time, and take each statement in turns. ``PAIMON_JVM_PYTHON`` and ``PAIMON_JVM_JAR`` name the
peer, as for the part `cold`; without them the part is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from types import MappingProxyType

from measure import Results, has_peer

WARM, ROUNDS = 4, 16
_NONE: Mapping[str, str] = MappingProxyType({})
COLUMNS = "(id int, v string, n bigint)"
MERGED = (
    "using (select 2 as id, 'm' as v, 5L as n union all select 4, 'w', 4L) s on t.id = s.id "
    "when matched then update set v = s.v, n = s.n when not matched then insert *"
)
STATEMENTS = {
    "CREATE DATABASE": "create database paimon.s{n}",
    "USE": "use paimon.s{n}",
    "CREATE TABLE": f"create table k {COLUMNS} tblproperties ('primary-key'='id', 'bucket'='1')",
    "CREATE TABLE without a key": f"create table a {COLUMNS}",
    "SHOW TABLES": "show tables",
    "INSERT VALUES": "insert into k values (1, 'x', 1), (2, 'y', 2), (3, 'z', 3)",
    "INSERT VALUES without a key": "insert into a values (1, 'x', 1), (2, 'y', 2), (3, 'z', 3)",
    "INSERT OVERWRITE": "insert overwrite k values (1, 'x', 1), (2, 'y', 2), (3, 'z', 3)",
    "INSERT OVERWRITE without a key": "insert overwrite a values (1, 'x', 1), (2, 'y', 2), (3, 'z', 3)",
    "MERGE": f"merge into k t {MERGED}",
    "MERGE without a key": f"merge into a t {MERGED}",
    "ALTER TABLE ADD COLUMN": "alter table k add column more int",
    "ALTER TABLE SET TBLPROPERTIES": "alter table k set tblproperties ('snapshot.num-retained.max'='20')",
    "UPDATE": "update k set v = 'u' where id = 2",
    "UPDATE without a key": "update a set v = 'u' where id = 2",
    "DELETE": "delete from k where id = 1",
    "DELETE without a key": "delete from a where id = 1",
    "SELECT": "select * from k where id > 1",
    "SELECT without a key": "select v, count(*) from a group by v",
    "DROP TABLE": "drop table k",
    "DROP TABLE without a key": "drop table a",
    "DROP DATABASE": "drop database paimon.s{n}",
}
"""What is measured -> a statement of a round, whose number is n."""


def goal(what: str) -> float:
    """The bar of the statements that change rows or read them is lower: most of their time is not Spark's."""
    return 1.0 if what.split()[0] in ("INSERT", "UPDATE", "MERGE", "DELETE", "SELECT") else 1.5


class Session:
    """A side: a process that runs statements.

    Args:
        kind: "paimon" or "jvm".
        warehouse: a local path or a URI.
        jars: of the JVM connector, beside it, with commas between.
        options: of the catalog.
    """

    def __init__(self, kind: str, warehouse: str, jars: str = "", options: Mapping[str, str] = _NONE) -> None:
        jvm = kind == "jvm"
        command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
        command += [str(Path(__file__).with_name("statements_session.py")), kind, warehouse]
        command += [
            ",".join(filter(None, (os.environ["PAIMON_JVM_JAR"], jars))) if jvm else "",
            json.dumps({**options}),
        ]
        env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True
        )

    def seconds(self, statement: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith('{"seconds"'):
                return float(json.loads(line)["seconds"])
        raise SystemExit(f"statements: a session ended at {statement!r}")

    def end(self) -> None:
        self._process.communicate()


def new_warehouse(path: Path) -> str:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return str(path)


def rounds(sides: dict[str, Session], count: int) -> Iterator[tuple[str, str, float]]:
    """The statement, the side and the seconds, of the rounds that count."""
    for number in range(WARM + count):
        for what, text in STATEMENTS.items():
            for kind, side in sides.items() if number % 2 else reversed(sides.items()):
                seconds = side.seconds(text.format(n=number))
                if number >= WARM:
                    yield what, kind, seconds


def run(results: Results, root: Path, scale: float) -> None:
    if not has_peer("statements"):
        return
    sides = {kind: Session(kind, new_warehouse(root / f"statements-{kind}")) for kind in ("paimon", "jvm")}
    found: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for what, kind, seconds in rounds(sides, max(int(ROUNDS * scale), 2)):
        found[what][kind].append(seconds)
    for side in sides.values():
        side.end()
    for what, by_side in found.items():
        ours, theirs = median(by_side["paimon"]), median(by_side["jvm"])
        note = f"median {1000 * ours:.0f} ms, JVM {1000 * theirs:.0f} ms"
        results.lower(f"{what}: time / JVM", ours / theirs, "x", goal(what), note)
