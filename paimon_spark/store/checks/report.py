"""The report of a check: problems, each with the rule that is violated."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from paimon_spark.store.reporting.result import Result

_SNAPSHOT = "snapshot"
KEPT = 100  # problems of one rule that are listed; a table that lost a directory has one for every file


class Rule(StrEnum):
    """What must be true of a table.

    SNAPSHOT: snapshots follow one another without a gap up to the one that LATEST names; they, the schemas they name,
    tags and consumers can be read, and so can the schemas and the newest snapshot of each branch.
    MANIFEST: manifest lists, manifests and index manifests are there with their recorded size, and counts, buckets,
    levels and partitions of a manifest are what its list says.
    TOTALS: the record counts of a snapshot.
    LIVE_FILES: a file is added once and deleted when it is live; a base list holds what the snapshot before it held.
    STORED: data, changelog, index and statistics files and sidecars are there with their recorded size.
    ROWS: a data file can be read, in all its columns, and has the recorded number of rows.
    VALUES: the values of each column are those of the recorded statistics, where the manifest holds some.
    KEY_ORDER: the rows of a file are sorted by key, each key once (in changelog files as often as it changed).
    KEY_RANGE: smallest and largest key of a file are the recorded ones.
    SEQUENCE: smallest and largest sequence number of a file are the recorded ones.
    DELETES: the recorded number of retractions of a file.
    PARTITION, BUCKET: every row lies where its partition columns and its bucket key put it, and all files of a
    partition name the same number of buckets.
    LEVELS: the files of one level above 0 of a bucket share no key.
    VECTORS: a deletion vector can be read, deletes rows that exist, as many as recorded, of a file that is live;
    of several files with columns of the same rows it names the oldest one.
    ONE_ROW: where readers do not merge, a key has one row that no deletion vector deletes; where the key says nothing
    of the partition, it lives in one partition of the latest snapshot.
    ROW_IDS: with row tracking, a file has the ids of its rows, or the first of them; files of new rows have no id in
    common, and the next id of the snapshot is above all of them. With data evolution the files that have columns of
    some rows have all of these rows and no others, and lie in one bucket.
    HASH_INDEX: the HASH index of a dynamic bucket knows the hash of every key of it (and of keys that were deleted: it
    only grows), and no other bucket of the partition knows it too.
    GLOBAL_INDEX: a file of a btree or bitmap index of the whole table can be read, and has the recorded number of rows
    and the recorded first and last key; files over the same columns have no row ids in common, and lie in row ids that
    the table has given.
    """

    SNAPSHOT = "snapshot"
    MANIFEST = "manifest"
    TOTALS = "totals"
    LIVE_FILES = "live-files"
    STORED = "stored"
    ROWS = "rows"
    VALUES = "values"
    KEY_ORDER = "key-order"
    KEY_RANGE = "key-range"
    SEQUENCE = "sequence"
    DELETES = "deletes"
    PARTITION = "partition"
    BUCKET = "bucket"
    LEVELS = "levels"
    VECTORS = "vectors"
    ONE_ROW = "one-row"
    ROW_IDS = "row-ids"
    HASH_INDEX = "hash-index"
    GLOBAL_INDEX = "global-index"


@dataclass(frozen=True)
class Problem:
    """One violation of a rule.

    Attributes:
        rule: the rule that is violated.
        snapshot: the first snapshot or tag that shows it.
        where: the file, bucket or snapshot.
        found: what was found and what was expected.
        also: of a file that is lost or cut, the further snapshots and tags that need it.
        in_latest: whether the latest snapshot is among those that need it.
    """

    rule: Rule
    snapshot: str
    where: str
    found: str
    also: tuple[str, ...] = ()
    in_latest: bool = False

    def __str__(self) -> str:
        needed = _states_text((self.snapshot, *self.also))
        latest = "" if not self.in_latest else ", the latest among them" if self.also else ", the latest"
        return f"[{self.rule}] {self.where}: {self.found} ({needed}{latest})"


def _states_text(labels: Sequence[str]) -> str:
    """Names of states, of which snapshots with consecutive ids become one."""
    runs: list[tuple[str, str, str]] = []  # kind, first name, last name
    for label in labels:
        kind, _, name = label.partition(" ")
        last = runs[-1] if runs else None
        follows = last is not None and last[0] == kind == _SNAPSHOT and int(name) == int(last[2]) + 1
        if last is not None and follows:
            runs[-1] = (kind, last[1], name)
        else:
            runs.append((kind, label, name))
    return ", ".join(
        first if first.endswith(f" {last}") else f"{kind}s {first.partition(' ')[2]} to {last}"
        for kind, first, last in runs
    )


@dataclass(frozen=True, repr=False)
class CheckResult(Result):
    """The scope and the results of a check.

    Attributes:
        location: the location of the table.
        snapshots: the ids of the checked snapshots.
        tags: the checked tags of expired snapshots.
        files, rows, bytes: the totals of the data and changelog files in any of these states.
        files_read: the number of these files that were opened.
        live_files, live_rows: the totals of the latest snapshot, rows by its metadata.
        problems: the problems, at most KEPT for each rule.
        left_out: the number of further problems, by rule.
        notes: what was not checked, and why; and what is no problem, but good to know.
    """

    location: str
    snapshots: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    files: int = 0
    rows: int = 0
    bytes: int = 0
    files_read: int = 0
    live_files: int = 0
    live_rows: int = 0
    problems: tuple[Problem, ...] = ()
    left_out: dict[Rule, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        return not self.problems

    @property
    def problem_count(self) -> int:
        return len(self.problems) + sum(self.left_out.values())

    def __str__(self) -> str:
        lines = [*map(str, self.problems)]
        lines += [f"[{rule}] ... and {count} more" for rule, count in self.left_out.items()]
        lines += [f"note: {note}" for note in self.notes]
        counted = f"{len(self.snapshots)} snapshots" + (f" and {len(self.tags)} tags" if self.tags else "")
        lines.append(
            f"{self.location}: {counted}, {self.files} data files of {self.rows} rows and {self.bytes} bytes, "
            f"{self.files_read} of them read: "
            + ("no problem" if self.is_good else f"{self.problem_count} problem{'s'[: self.problem_count > 1]}")
        )
        return "\n".join(lines)


class Findings:
    """Collects problems from several threads; each is reported once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problems: list[Problem] = []
        self._seen: set[tuple[Rule, str, str]] = set()
        self._counts: Counter[Rule] = Counter()
        self._notes: dict[str, None] = {}
        self._needed: dict[str, list[str]] = {}

    def add(self, rule: Rule, snapshot: str, where: str, found: str) -> None:
        """Records a problem, unless one with the same rule, place and text is recorded already."""
        with self._lock:
            key = (rule, where, found)
            if key in self._seen:
                return
            self._counts[rule] += 1
            if self._counts[rule] <= KEPT:
                self._seen.add(key)
                self._problems.append(Problem(rule, snapshot, where, found))

    def need(self, where: str, snapshot: str) -> None:
        """Records that a further snapshot or tag needs a file of which a problem is recorded."""
        self._needed.setdefault(where, []).append(snapshot)

    def note(self, text: str) -> None:
        """Records that something was not checked."""
        with self._lock:
            self._notes[text] = None

    def forget(self, snapshots: Iterable[str]) -> None:
        """Drops the problems of snapshots that have expired during the check: their files may be deleted."""
        gone = set(snapshots)
        kept: list[Problem] = []
        for problem in self._problems:
            needed = [label for label in (problem.snapshot, *self._needed.get(problem.where, ())) if label not in gone]
            if needed:
                kept.append(replace(problem, snapshot=needed[0]))
                self._needed[problem.where] = needed[1:]
            else:
                self._counts[problem.rule] -= 1
        self._problems = kept

    def problems(self, latest: str | None = None) -> tuple[tuple[Problem, ...], dict[Rule, int]]:
        """The problems in the order of the rules, and the number of further ones of each rule.

        Args:
            latest: the name of the latest snapshot; None: there is none.
        """
        self._problems = [self._complete(problem, latest) for problem in self._problems]
        order = list(Rule)
        kept = Counter(problem.rule for problem in self._problems)
        more = {rule: self._counts[rule] - kept[rule] for rule in order if self._counts[rule] > kept[rule]}
        return tuple(sorted(self._problems, key=lambda problem: order.index(problem.rule))), more

    def _complete(self, problem: Problem, latest: str | None) -> Problem:
        also = tuple(self._needed.get(problem.where, ())) if problem.rule is Rule.STORED else ()
        return replace(problem, also=also, in_latest=latest is not None and latest in (problem.snapshot, *also))

    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)
