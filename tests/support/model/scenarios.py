"""Which jobs meet on which table. Each scenario is small enough that all orders of its steps are tried."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial

from support.model.commit import Change, commit
from support.model.expiry import DAMAGED, expire, remove_orphans
from support.model.explorer import Scenario, network
from support.model.keepers import (
    delete_tag,
    make_branch,
    make_tag,
    read_latest,
    read_snapshot,
    read_with_tag,
    rename_tag,
)
from support.model.machine import Path, Program, Stopped
from support.model.mutations import Mutation
from support.model.storages import ATOMIC, IGNORING, RACY, first_commit
from support.model.streams import batch
from support.model.values import Found, Mark, Snap, born, expiry_mark, files_of, hint, hold_mark, snapshot, tag, write
from support.model.versions import drop_and_make_anew, fast_forward, restore, roll_back

M = Mutation | None
Make = Callable[[M], Scenario]
Files = dict[Path, Hashable]
Jobs = dict[str, Callable[[], Program]]

GROWN = born(("a", ["a"], []), ("b", ["b"], ["a"]), ("c", ["c"], []))
"""Snapshots 1 to 3; the second one is a compaction, so that its files outlive no expiry of the first."""


def snap(files: Mapping[Path, Hashable], number: int, branch: str = "main") -> Snap:
    found = files[snapshot(number, branch)]
    assert isinstance(found, Snap)
    return found


def data(*names: Hashable, day: int = 1) -> Files:
    return {("data", name): Mark(day) for name in names}


def note(*name: Hashable) -> Files:
    return {("noted", *name): True}


def expired(files: Mapping[Path, Hashable], below: int, *kept: str) -> Files:
    """The files of a table after an expiry. kept: names of tags in it."""
    left = {p: c for p, c in files.items() if not (p[0] == "snapshot" and int(str(p[2])) < below)}
    roots = [c for p, c in left.items() if isinstance(c, Snap)]
    needed = set().union(*map(files_of, roots))
    return {p: c for p, c in left.items() if p[0] not in ("data", "meta") or p in needed}


def append(m: M, who: str, since: int = 3, **more: object) -> Callable[[], Program]:
    return partial(commit, m, who, Change((who, 0), frozenset({who})), since, **more)  # type: ignore[arg-type]


def compaction(m: M, who: str, *replaces: str, since: int = 3) -> Callable[[], Program]:
    return partial(commit, m, who, Change((who, 0), frozenset({who}), frozenset(replaces), "compact"), since)


def job(*parts: Callable[[], Found]) -> Callable[[], Program]:
    """Several jobs of one process, one after the other; the outcome is that of the last one."""

    def run() -> Program:
        outcome: object = None
        for part in parts:
            outcome = yield from part()
        return outcome

    return run


def again(what: Callable[[], Found]) -> Callable[[], Program]:
    """A job that is run once more if it fails."""

    def run() -> Program:
        try:
            return (yield from what())
        except Stopped:
            pass
        return (yield from what())

    return run


# ------------------------------------------------------------------------------------------------------------ storages


def a_good_storage(m: M) -> Scenario:
    return _first_commits(m, ATOMIC)


def a_racy_storage(m: M) -> Scenario:
    return _first_commits(m, RACY)


def a_storage_without_conditions(m: M) -> Scenario:
    return _first_commits(m, IGNORING)


def a_racy_storage_with_a_lock(m: M) -> Scenario:
    return _first_commits(m, RACY, locks=True)


def _first_commits(m: M, storage: str, locks: bool = False) -> Scenario:
    jobs: Jobs = {w: partial(first_commit, m, storage, w, locks) for w in ("creator1", "creator2")}
    return Scenario(note("may be empty"), jobs)


# ------------------------------------------------------------------------------------------------------------- commits


def two_writers(m: M) -> Scenario:
    files = {**GROWN, **data("writer1", "writer2")}
    return Scenario(files, {"writer1": append(m, "writer1", clock=9), "writer2": append(m, "writer2", clock=5)})


def two_compactions(m: M) -> Scenario:
    files = {**GROWN, **data("writer1", "writer2")}
    return Scenario(files, {w: compaction(m, w, "b", "c") for w in ("writer1", "writer2")})


def overwrite_and_writer(m: M) -> Scenario:
    files = {**GROWN, **data("writer1", "writer2")}
    over = partial(commit, m, "writer1", Change(("writer1", 0), frozenset({"writer1"}), kind="overwrite"), 3)
    return Scenario(files, {"writer1": over, "writer2": append(m, "writer2")})


def one_name_twice(m: M) -> Scenario:
    """A writer, and the same job in another process, with another writer beside."""
    files = {**GROWN, **data("writer1", "writer2", "writer3")}
    same = partial(commit, m, "writer2", Change(("writer1", 0), frozenset({"writer2"})), 3)
    return Scenario(files, {"writer1": append(m, "writer1"), "writer2": same, "writer3": append(m, "writer3")})


def lost_answers(m: M) -> Scenario:
    files = {**GROWN, **data("writer1", "writer2")}
    jobs: Jobs = {"writer1": append(m, "writer1"), "writer2": append(m, "writer2"), "network": network}
    return Scenario(files, jobs, lost=2)


def no_answer_ever(m: M) -> Scenario:
    files = {**GROWN, **data("writer1")}
    return Scenario(files, {"writer1": append(m, "writer1"), "network": network}, lost=2)


def rollback_and_writers(m: M) -> Scenario:
    """With two snapshots, so that nobody can build on a state that the rollback has half taken away: with three there
    are more states than the memory of a machine holds."""
    grown = born(("a", ["a"], []), ("b", ["b"], ["a"]))
    files = {**grown, **data("writer1", "writer2")}
    jobs: Jobs = {w: append(m, w, since=2) for w in ("writer1", "writer2")}
    jobs["rollback"] = partial(roll_back, m, "rollback", snap(grown, 1))
    return Scenario(files, jobs)


def rollback_and_writer(m: M) -> Scenario:
    files = {**GROWN, **data("writer1")}
    back = partial(roll_back, m, "rollback", snap(GROWN, 1))
    return Scenario(files, {"rollback": back, "writer1": append(m, "writer1")})


def killed_rollback_and_writer(m: M) -> Scenario:
    """A rollback that is killed at any point, and a writer after it or at the same time."""
    made = rollback_and_writer(m)
    return Scenario({**made.files, **note("no gaps")}, made.jobs, crashes=1, mortal=frozenset({"rollback"}))


def ids_used_again(m: M) -> Scenario:
    """Before the rollback a writer was about to publish, after it another one takes the ids again."""
    files = {**GROWN, **data("writer1", "writer2", "writer3")}
    back = partial(roll_back, m, "rollback", snap(GROWN, 2))
    after = job(back, append(m, "writer2"), append(m, "writer3"))
    return Scenario(files, {"rollback": after, "writer1": append(m, "writer1")})


def overtaken(m: M) -> Scenario:
    """A writer is stuck while others use its id, and let it expire."""
    files = {**born(("a", ["a"], [])), **data("writer1", "writer2", "writer3")}
    others = job(append(m, "writer2", since=1), append(m, "writer3", since=1), partial(expire, m, "expiry", 1))
    return Scenario(files, {"writer1": append(m, "writer1", since=1), "others": others})


def dropped(m: M) -> Scenario:
    files = {**GROWN, **data("writer1"), **note("may be empty")}
    jobs: Jobs = {"writer1": append(m, "writer1"), "drop": partial(drop_and_make_anew, "t2")}
    return Scenario(files, jobs)


def dropped_while_read(m: M) -> Scenario:
    files = {**born(("a", ["a"], [])), **note("may be empty")}

    def put_data() -> Program:
        yield write(("data", "writer9"), Mark(1))

    other = job(partial(drop_and_make_anew, "t2"), put_data, append(None, "writer9", since=0, opened="t2"))
    return Scenario(files, {"reader": partial(read_latest, m), "drop": other})


def dropped_while_expired(m: M) -> Scenario:
    """The other table has snapshots of the same ids, and nobody has asked that they expire."""

    def fill() -> Program:
        new = born(("x", ["x"], []), ("y", ["y"], ["x"]), ("z", ["z"], []), table="t2")
        files = tuple(sorted(((path, held) for path, held in new.items() if path != ("schema",)), key=repr))
        del new
        for path, held in files:
            yield write(path, held)
        return "made"

    made = job(partial(drop_and_make_anew, "t2"), fill)
    return Scenario({**GROWN, **note("may be empty")}, {"expiry1": partial(expire, m, "expiry1", 1), "drop": made})


def columns(m: M) -> Scenario:
    """Two changes of one column of the rows of one file, and a compaction of that file."""
    one: Hashable = ("column", "b", "x", frozenset(), "writer1")
    two: Hashable = ("column", "b", "x", frozenset(), "writer2")
    files = {**GROWN, **data(one, two, "writer3")}
    jobs: Jobs = {
        f"writer{n}": partial(commit, m, f"writer{n}", Change((n, 0), frozenset({file}), kind="column"), 3)
        for n, file in ((1, one), (2, two))
    }
    return Scenario(files, {**jobs, "writer3": compaction(m, "writer3", "b")})


def iceberg(m: M) -> Scenario:
    """Commits with metadata for Iceberg, and a rollback before the second of them."""
    files = {**GROWN, ("iceberg", 3): ("c", frozenset({"b", "c"})), **data("writer1", "writer2", "writer3")}
    back = partial(roll_back, m, "rollback", snap(GROWN, 2))
    others = job(back, append(m, "writer2"), append(m, "writer3", iceberg=True))
    return Scenario(files, {"writer1": append(m, "writer1", iceberg=True), "rollback": others})


def iceberg_blocked(m: M) -> Scenario:
    files = {**GROWN, ("iceberg blocked",): True, **data("writer1")}
    return Scenario(files, {"writer1": append(m, "writer1", iceberg=True)}, refused=("iceberg blocked",))


def lost_newest(m: M) -> Scenario:
    files = {path: held for path, held in GROWN.items() if path != snapshot(3)}
    return Scenario({**files, **note("lost before")}, {"reader": partial(read_latest, m)})


# ------------------------------------------------------------------------------------------- expiry, holds, tags, reads


def expiry_and_tag(m: M) -> Scenario:
    jobs: Jobs = {
        "expiry1": partial(expire, m, "expiry1", 1),
        "tagger": partial(make_tag, m, "tagger", "one", snap(GROWN, 1)),
    }
    return Scenario(GROWN, jobs)


def expiry_and_tag_killed(m: M) -> Scenario:
    made = expiry_and_tag(m)
    later: Jobs = {**made.jobs, "expiry2": partial(expire, m, "expiry2", 1)}
    return Scenario(made.files, later, crashes=1, mortal=frozenset({"expiry1", "tagger"}))


def expiry_finished(m: M) -> Scenario:
    """An expiry is killed at any point, then another one finishes its work."""
    files = {**GROWN, **note("counts leftovers")}
    jobs: Jobs = {name: partial(expire, m, name, 1) for name in ("expiry1", "expiry2")}
    return Scenario(files, jobs, 1, mortal=frozenset({"expiry1"}), later=frozenset({"expiry2"}))


def tagged_and_expired(m: M) -> Scenario:
    """A tag is there before the expiry, and a branch."""
    files = {**GROWN, tag("one"): snap(GROWN, 1)}
    branch = partial(make_branch, m, "brancher", "b", snap(GROWN, 2))
    return Scenario(files, {"expiry1": partial(expire, m, "expiry1", 1), "brancher": branch})


def damaged_tag(m: M) -> Scenario:
    files = {**GROWN, tag("one"): DAMAGED}
    return Scenario(files, {"expiry1": partial(expire, m, "expiry1", 1)})


def two_expiries(m: M) -> Scenario:
    jobs: Jobs = {"expiry1": partial(expire, m, "expiry1", 2), "expiry2": partial(expire, m, "expiry2", 1)}
    return Scenario({**GROWN, **data("writer1")}, {**jobs, "writer1": append(m, "writer1")})


def two_expiries_and_a_way_back(m: M) -> Scenario:
    """The slower of two expiries still works when a rollback to a tag brings an expired snapshot back."""
    files = {**GROWN, tag("one"): snap(GROWN, 1)}
    fast = job(partial(expire, m, "expiry2", 1), partial(roll_back, m, "rollback", snap(GROWN, 1)))
    return Scenario(files, {"expiry1": partial(expire, m, "expiry1", 1), "rollback": fast})


def mark_above_all(m: M) -> Scenario:
    files = {**GROWN, expiry_mark(9, "crashed"): "x"}
    files[("noted", "wanted", "tagger")] = "tagged"
    return Scenario(files, {"tagger": partial(make_tag, m, "tagger", "one", snap(GROWN, 1))})


def withdrawn_and_expired(m: M) -> Scenario:
    """An expiry counts snapshots while one is about to be withdrawn."""
    files = {**GROWN, **data("writer1")}
    jobs: Jobs = {
        "rollback": partial(roll_back, m, "rollback", snap(GROWN, 1)),
        "writer1": append(m, "writer1"),
        "expiry1": partial(expire, m, "expiry1", 1),
    }
    return Scenario(files, jobs)


def refused_file(m: M) -> Scenario:
    files: Files = {**GROWN, ("noted", "wanted", "expiry1"): "expired"}
    return Scenario(files, {"expiry1": partial(expire, m, "expiry1", 1)}, refused=("data", "a"))


def refused_hold(m: M) -> Scenario:
    files: Files = {**GROWN, ("noted", "wanted", "tagger"): "tagged"}
    jobs: Jobs = {"tagger": partial(make_tag, m, "tagger", "one", snap(GROWN, 1))}
    return Scenario(files, jobs, refused=("marks", "main", "holding"))


def holds_of_a_crash(m: M) -> Scenario:
    """A hold that is a day old, and one that somebody takes today."""
    old: Files = {("clock",): 1, hold_mark(1, "crashed"): Mark(0), ("noted", "wanted", "expiry1"): "expired"}
    return Scenario({**GROWN, **old}, {"expiry1": partial(expire, m, "expiry1", 1)})


def holds_of_today(m: M) -> Scenario:
    jobs: Jobs = {
        "expiry1": partial(expire, m, "expiry1", 1),
        "tagger": partial(make_tag, m, "tagger", "one", snap(GROWN, 1)),
    }
    return Scenario({**GROWN, ("clock",): 1}, jobs)


def tagged(*names: str) -> Files:
    """Snapshots 1 and 2 have expired, but for tags of the first one."""
    files = {**GROWN, **{tag(name): snap(GROWN, 1) for name in names}}
    return expired(files, 3)


def copy_and_deletion(m: M) -> Scenario:
    jobs: Jobs = {
        "deleter": partial(delete_tag, m, "one"),
        "copier": partial(rename_tag, m, "copier", "one", "two"),
    }
    return Scenario(tagged("one"), jobs)


def two_deletions(m: M) -> Scenario:
    jobs: Jobs = {"deleter1": partial(delete_tag, m, "one"), "deleter2": partial(delete_tag, m, "two")}
    return Scenario(tagged("one", "two"), jobs)


def last_tag(m: M) -> Scenario:
    """The deletion of the last tag is killed at any point, then repeated."""
    files = {**tagged("one"), **note("counts leftovers")}
    jobs: Jobs = {name: partial(delete_tag, m, "one") for name in ("deleter1", "deleter2")}
    return Scenario(files, jobs, 1, mortal=frozenset({"deleter1"}), later=frozenset({"deleter2"}))


def tags_share_files(m: M) -> Scenario:
    files = {**GROWN, tag("one"): snap(GROWN, 1), tag("two"): snap(GROWN, 2)}
    grown = born(("a", ["a"], []), ("b", ["b"], []), ("c", ["c"], ["a", "b"]))
    files = expired({**grown, tag("one"): snap(grown, 1), tag("two"): snap(grown, 2)}, 3)
    return Scenario(files, {"deleter": partial(delete_tag, m, "one")})


def branch_shares_files(m: M) -> Scenario:
    files = {**tagged("one"), snapshot(1, "b"): snap(GROWN, 1)}
    return Scenario(files, {"deleter": partial(delete_tag, m, "one")})


def one_name_for_two_tags(m: M) -> Scenario:
    jobs: Jobs = {
        "tagger1": partial(make_tag, m, "tagger1", "one", snap(GROWN, 2)),
        "tagger2": partial(make_tag, m, "tagger2", "one", snap(GROWN, 3)),
    }
    return Scenario({**GROWN, **note("tags stay")}, jobs)


def rollback_and_tag(m: M) -> Scenario:
    jobs: Jobs = {
        "rollback": partial(roll_back, m, "rollback", snap(GROWN, 1)),
        "tagger": partial(make_tag, m, "tagger", "three", snap(GROWN, 3)),
    }
    return Scenario({**GROWN, **data("writer1"), tag("two"): snap(GROWN, 2)}, jobs)


def rollback_to_tag(m: M) -> Scenario:
    """Its target has expired, and a reader is there."""
    files = tagged("one")
    jobs: Jobs = {
        "rollback": again(partial(roll_back, m, "rollback", snap(GROWN, 1))),
        "reader": partial(read_latest, m),
    }
    return Scenario(files, jobs, crashes=1, mortal=frozenset({"rollback"}))


def forward(m: M) -> Scenario:
    """A branch of snapshot 1 with one of its own, and a writer to main."""
    files: Files = {**GROWN, **data("writer1")}
    one = snap(GROWN, 1)
    own = Snap("x", 2, "a", one.lineage | {"x"}, frozenset({"a", "x"}), frozenset({"x"}), frozenset(), "x")
    own = own._replace(next_row=one.next_row + 1)
    files |= {snapshot(1, "b"): one, snapshot(2, "b"): own, ("meta", "x"): Mark(0), ("data", "x"): Mark(0)}
    files[hint("b")] = 2
    jobs: Jobs = {"forward": partial(fast_forward, m, "forward", "b"), "writer1": append(m, "writer1")}
    return Scenario(files, jobs)


def revived(m: M) -> Scenario:
    """The state of tag one comes back, which tag two does not have; then it is overwritten, and expires."""
    grown = born(("a", ["a"], []), ("b", ["b"], ["a"]))
    files = {**grown, tag("one"): snap(grown, 1), tag("two"): snap(grown, 2), **data("writer2")}
    over = partial(commit, m, "writer2", Change(("writer2", 0), frozenset({"writer2"}), kind="overwrite"), 3)
    steps = job(
        partial(restore, m, "writer1", snap(grown, 1), "one"),
        partial(expire, m, "expiry1", 1),
        over,
        partial(expire, m, "expiry2", 1),
    )
    return Scenario(files, {"writer1": steps})


def reader(m: M) -> Scenario:
    files = {**GROWN, **data("writer1")}
    jobs: Jobs = {"reader": partial(read_latest, m), "writer1": compaction(m, "writer1", "b", "c")}
    return Scenario(files, jobs)


def reader_and_expiry(m: M) -> Scenario:
    jobs: Jobs = {"reader": partial(read_snapshot, m, snap(GROWN, 1)), "expiry1": partial(expire, m, "expiry1", 1)}
    return Scenario(GROWN, jobs)


def tagged_read(m: M) -> Scenario:
    jobs: Jobs = {
        "reader": partial(read_with_tag, m, "reader", snap(GROWN, 1)),
        "expiry1": partial(expire, m, "expiry1", 1),
    }
    return Scenario(GROWN, jobs)


def orphans(m: M) -> Scenario:
    """The removal of orphan files beside a writer, whose files are a day old when its commit is done; and an orphan."""

    def day() -> Program:
        yield write(("clock",), 1)
        return "a day has passed"

    files = {**GROWN, **data("orphan", "writer1", day=0)}
    return Scenario(files, {"cleaner": partial(remove_orphans, m), "writer1": job(append(m, "writer1"), day)})


def orphans_and_restore(m: M) -> Scenario:
    """An old file comes back into use while orphan files are removed: none, because a tag has kept it."""
    files = {**tagged("one"), ("clock",): 1}
    jobs: Jobs = {
        "cleaner": partial(remove_orphans, m),
        "writer1": partial(restore, m, "writer1", snap(GROWN, 1), "one"),
    }
    return Scenario(files, jobs)


def stream(m: M) -> Scenario:
    """A batch is cut off in the middle of its commit, and comes again after its snapshots may have expired."""
    files = {**born(("a", ["a"], [])), **data("u.0.stream1", "u.0.stream2", "writer1"), **note("streams")}
    others = job(append(m, "writer1", since=1), partial(expire, m, "expiry", 1, streams=True))
    jobs: Jobs = {
        "stream1": partial(batch, m, "stream1", "u", 0),
        "others": others,
        "stream2": partial(batch, m, "stream2", "u", 0),
    }
    return Scenario(files, jobs, 1, mortal=frozenset({"stream1"}), later=frozenset({"stream2"}))


def unseen_batch(m: M) -> Scenario:
    """Another system has expired the snapshot of a batch that was cut off, and ours expires what came after it."""
    grown = born(("a", ["a"], []), ("stream1.1", ["s"], []), ("c", ["c"], []), ("d", ["d"], []))
    files = {**expired(grown, 3), **data("u.0.stream2"), ("note", "u"): ("committing", 0, 1, "a")}
    jobs: Jobs = {
        "expiry1": partial(expire, m, "expiry1", 1, streams=True),
        "stream2": partial(batch, m, "stream2", "u", 0),
    }
    known = {**note("streams"), **note("streams at once")}
    return Scenario({**files, **known}, jobs, later=frozenset({"stream2"}))


def two_streams(m: M) -> Scenario:
    """As before, but the first process may go on beside the second one."""
    made = stream(m)
    return replace(made, files={**made.files, **note("streams at once")}, later=frozenset(), crashes=0)


SCENARIOS: dict[str, Make] = {
    make.__name__: make
    for make in (
        *(two_writers, two_compactions, overwrite_and_writer, one_name_twice, lost_answers, no_answer_ever),
        *(
            rollback_and_writer,
            killed_rollback_and_writer,
            rollback_and_writers,
            ids_used_again,
            overtaken,
            dropped,
            dropped_while_read,
        ),
        *(dropped_while_expired, columns, iceberg, iceberg_blocked, lost_newest, expiry_and_tag),
        *(expiry_and_tag_killed, expiry_finished, tagged_and_expired, damaged_tag, two_expiries),
        *(two_expiries_and_a_way_back, mark_above_all, withdrawn_and_expired, refused_file, refused_hold),
        *(holds_of_a_crash, holds_of_today, copy_and_deletion, two_deletions, last_tag, tags_share_files),
        *(branch_shares_files, one_name_for_two_tags, rollback_and_tag, rollback_to_tag, forward, revived),
        *(reader, reader_and_expiry, tagged_read, orphans, orphans_and_restore, stream, unseen_batch, two_streams),
        *(a_good_storage, a_racy_storage, a_storage_without_conditions, a_racy_storage_with_a_lock),
    )
}
