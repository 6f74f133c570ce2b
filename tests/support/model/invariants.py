"""The invariants of docs/internals/protocol.md as conditions of the model, by their numbers.

Those of one moment are checked in every state, those of an operation at every step. What holds only when all jobs have
ended says so in the docs ("for long", "after"), and is checked in the states in which no job is under way.
"""

from __future__ import annotations

from collections.abc import Iterator

from support.model.commit import COMMITTED
from support.model.expiry import DAMAGED
from support.model.explorer import Checks, Files, Step, View, noted
from support.model.machine import Kind, Path
from support.model.storages import CREATED
from support.model.values import Snap, files_of, hint

# ------------------------------------------------------------------------------------------------------- what there is


def snapshots(files: Files, branch: str | None = None) -> list[Snap]:
    found = [(path, s) for path, s in files.items() if path[0] == "snapshot" and isinstance(s, Snap)]
    return sorted((s for path, s in found if branch in (None, path[1])), key=lambda s: s.id)


def tags(files: Files) -> dict[Path, Snap]:
    return {path: kept for path, kept in files.items() if path[0] == "tag" and isinstance(kept, Snap)}


def newest(files: Files) -> Snap | None:
    return max(snapshots(files, "main"), key=lambda s: s.id, default=None)


def is_whole(files: Files, snap: Snap) -> bool:
    return files_of(snap) <= files.keys()


def below_marks(files: Files, branch: str) -> int:
    """Snapshots below this id may be broken, as expiry marks say."""
    top = max((s.id for s in snapshots(files, branch)), default=0)
    ends = [int(str(path[3])) for path in files if path[:3] == ("marks", branch, "expiring")]
    return max((end for end in ends if end <= top), default=0)


def committed(view: View) -> Iterator[Snap]:
    """The snapshots of the commits that have returned."""
    for outcome in view.outcomes.values():
        if isinstance(outcome, tuple) and outcome[0] == COMMITTED:
            yield outcome[1]


def failures(view: View) -> set[object]:
    return {o[1] for o in view.outcomes.values() if isinstance(o, tuple) and o[0] == "failed"}


def some_died(view: View) -> bool:
    return ("dead",) in view.outcomes.values()


# -------------------------------------------------------------------------------------------------- storages, commits


def one_creates(view: View) -> bool:
    """S1 and S2: of all that create one file, at most one is told that it did."""
    return sum(outcome == CREATED for outcome in view.outcomes.values()) <= 1


def names_only_what_is_there(step: Step) -> bool:
    """C1: a snapshot appears in one operation, and all that it names is there before."""
    if step.op.path[0] != "snapshot" or step.op.kind not in (Kind.CREATE, Kind.WRITE):
        return True
    snap = step.after.get(step.op.path)
    if step.before == step.after or not isinstance(snap, Snap) or snap.table != step.before.get(("schema",)):
        return True
    return is_whole(step.before, snap)


def is_never_changed(step: Step) -> bool:
    """C1: the file of a snapshot is created once, and only a fast-forward puts another one in its place."""
    if step.op.path[0] != "snapshot" or step.op.kind != Kind.WRITE:
        return True
    return step.op.path not in step.before or bool(step.op.notes)


def is_made_once(files: Files) -> bool:
    """C2: no two snapshots of one line have one name."""
    for branch in ("main", "b"):
        line = [s for s in snapshots(files, branch) if newest(files) is None or s.uid in _lineage(files, branch)]
        if len({s.name for s in line}) < len(line):
            return False
    return True


def _lineage(files: Files, branch: str) -> frozenset[object]:
    top = max(snapshots(files, branch), key=lambda s: s.id, default=None)
    return frozenset() if top is None else top.lineage


def fits_its_base(view: View) -> bool:
    """C3: each snapshot stands on the one before, deletes what is live there and adds what is not."""
    if some_died(view):
        return True
    for branch in ("main", "b"):
        by_id = {s.id: s for s in snapshots(view.files, branch)}
        for snap in by_id.values():
            before = by_id.get(snap.id - 1)
            if before is None or branch == "b":
                continue
            if snap.parent != before.uid or not snap.deletes <= before.live or snap.adds & before.live:
                return False
    return True


def no_commit_is_lost(view: View) -> bool:
    """C4 and C6: a commit that has returned is part of the latest state, unless a rollback has taken it away."""
    latest = newest(view.files)
    removed = {name[0] for name in noted(view.files, "removed")}
    is_other_table = latest is not None and view.files.get(("schema",)) != "t"
    known = frozenset() if latest is None else latest.lineage
    return is_other_table or all(
        snap.uid in known or snap.lineage & removed or snap.table != view.files.get(("schema",))
        for snap in committed(view)
    )


def stands_on_what_stays(step: Step) -> bool:
    """C4 and C5: a commit that finds its base does not stand on what a rollback removed that has ended.

    As long as the rollback has not ended, the commit counts as one before it, which it takes away.
    """
    if not isinstance(step.phase, tuple) or step.phase[0] != "confirming" or not isinstance(step.answer, Snap):
        return True
    removed = {name[0] for name in noted(step.before, "removed")} - {s.uid for s in snapshots(step.before)}
    is_over = not any(path[2:3] == ("holding",) for path in step.before)
    return not (is_over and step.answer.uid == step.phase[1].parent and removed & step.answer.lineage)


def nothing_removed_comes_back(view: View) -> bool:
    """C5 and R2: when all have ended, what a rollback removed is no part of the latest state."""
    removed = {name[0] for name in noted(view.files, "removed")}
    latest = newest(view.files)
    if some_died(view) or latest is None or "conflict" in failures(view) or "unknown" in failures(view):
        return True
    return not (removed - {s.uid for s in snapshots(view.files)}) & latest.lineage


def removes_what_stands_on_nothing(step: Step) -> bool:
    """R2: what a rollback removes when it looks again is not built on its target."""
    if step.op.kind != Kind.DELETE or not isinstance(step.phase, tuple) or step.phase[0] != "looking":
        return True
    found, target = step.before.get(step.op.path), step.phase[1]
    while isinstance(found, Snap) and found.uid != target.uid:
        below = step.before.get((*step.op.path[:2], found.id - 1))
        found = below if isinstance(below, Snap) and below.uid == found.parent else None
    return found is None or step.before == step.after


def nothing_is_deleted_in_doubt(files: Files) -> bool:
    """C7, E3 and F2: a snapshot that is there has its files, or a mark says that it may have none."""
    if ("noted", "may be empty") in files:
        return True
    for branch in ("main", "b"):
        below = below_marks(files, branch)
        if not all(is_whole(files, s) for s in snapshots(files, branch) if s.id >= below):
            return False
    return True


def deletes_only_its_own(step: Step) -> bool:
    """C8: a committer deletes files that only it knows of."""
    if step.op.kind != Kind.DELETE or step.op.path[0] not in ("data", "meta") or step.phase is not None:
        return True
    name = step.op.path[1]
    if step.before.get(("schema",)) is None or not step.actor.startswith("writer"):
        return True
    return not any(name == s.uid or name in s.live for s in (*snapshots(step.before), *tags(step.before).values()))


def a_failure_leaves_nothing(view: View) -> bool:
    """C8: who has failed for certain has deleted its files."""
    for actor, outcome in view.outcomes.items():
        certain = ("conflict", "table not found", "exhausted")
        failed = isinstance(outcome, tuple) and outcome[0] == "failed" and outcome[1] in certain
        if failed and {("data", actor), ("meta", f"{actor}.1")} & view.files.keys():
            return False
    return True


def time_goes_on(files: Files) -> bool:
    """C9: the time of a snapshot is not before that of the one before it."""
    by_uid = {s.uid: s for s in snapshots(files)}
    return all(s.parent not in by_uid or s.time >= by_uid[s.parent].time for s in by_uid.values())


def hint_names_what_is_there(view: View) -> bool:
    """C10: when all have ended, LATEST names no snapshot above the newest."""
    top = newest(view.files)
    named = view.files.get(hint())
    if some_died(view) or ("noted", "lost before") in view.files:
        return True
    return not isinstance(named, int) or named <= (0 if top is None else top.id)


def no_old_state_is_latest(view: View) -> bool:
    """C10: where LATEST names a snapshot that is lost, no reader takes an older state for the latest."""
    top = newest(view.files)
    named = view.files.get(hint())
    is_lost = isinstance(named, int) and named > (0 if top is None else top.id)
    shown = [o for o in view.outcomes.values() if isinstance(o, tuple) and o[0] == "rows"]
    return not (is_lost and ("noted", "lost before") in view.files and shown)


def commits_to_its_table(view: View) -> bool:
    """C11: when all have ended, a table holds snapshots only of jobs that had opened it."""
    here = view.files.get(("schema",))
    return some_died(view) or all(s.table == here for s in snapshots(view.files))


def reads_its_table(view: View) -> bool:
    """C11: a read shows rows of the table that was opened."""
    shown = [o for o in view.outcomes.values() if isinstance(o, tuple) and o[0] == "rows" and len(o) > 3]
    return all(o[3] == o[4] for o in shown)


def expires_its_table(step: Step) -> bool:
    """C11: an expiry deletes no file of another table than the one that was opened."""
    if not step.actor.startswith("expiry") or step.op.kind != Kind.DELETE:
        return True
    others = [s for s in snapshots(step.before) if s.table != "t"]
    return not any(step.op.path in files_of(s) for s in others)


def row_ids_go_on(files: Files) -> bool:
    """C12: the ids of new rows begin where those of the base end."""
    by_uid = {s.uid: s for s in snapshots(files)}
    for snap in by_uid.values():
        base = by_uid.get(str(snap.parent))
        if base is not None and snap.kind != "restore" and snap.next_row != base.next_row + len(snap.adds):
            return False
    return True


def columns_fit_their_rows(files: Files) -> bool:
    """C13: each file of a column is of rows that are live, and was computed from all changes before it."""
    by_uid = {s.uid: s for s in snapshots(files)}
    for snap in by_uid.values():
        columns = [file for file in snap.live if isinstance(file, tuple)]
        if any(file[1] not in snap.live for file in columns):
            return False
        base = by_uid.get(str(snap.parent))
        for file in (file for file in snap.adds if isinstance(file, tuple)):
            before = (
                frozenset()
                if base is None
                else frozenset(f for f in base.live if isinstance(f, tuple) and f[1:3] == file[1:3])
            )
            if before != file[3]:
                return False
    return True


def iceberg_says_what_is_live(files: Files) -> bool:
    """C14: metadata that name a snapshot have its files."""
    by_uid = {s.uid: s for s in snapshots(files)}
    for path, found in files.items():
        is_known = path[0] == "iceberg" and isinstance(found, tuple) and found[0] in by_uid
        if is_known and isinstance(found, tuple) and by_uid[found[0]].live != found[1]:
            return False
    return True


def iceberg_changes_no_commit(view: View) -> bool:
    """C14: a commit returns though its metadata for Iceberg are not made."""
    return "iceberg" not in failures(view)


def iceberg_of_later_stay(step: Step) -> bool:
    """C14: nobody deletes the metadata of a snapshot that is there."""
    found = step.before.get(step.op.path)
    if step.op.kind != Kind.DELETE or step.op.path[0] != "iceberg" or not isinstance(found, tuple):
        return True
    return all(s.uid != found[0] for s in snapshots(step.before))


# -------------------------------------------------------------------------------------------------- expiries and holds


def one_sees_the_other(view: View) -> bool:
    """E1 and H1: of an expiry that deletes and a holder of what it deletes, one has given up.

    An expiry whose mark another one has removed finds nothing more to delete (E4).
    """
    phases = [phase for phase in view.phases.values() if isinstance(phase, tuple)]
    ends = [(phase[1], phase[2]) for phase in phases if phase[0] == "deleting" and phase[3] in view.files]
    kept = [(phase[1], phase[2]) for phase in phases if phase[0] == "keeping"]
    return not any(one == other and first < end for one, end in ends for other, first in kept)


def held_states_are_whole(view: View) -> bool:
    """H2: as long as somebody holds a snapshot, having looked for marks, all its files are there."""
    kept = [phase[3] for phase in view.phases.values() if isinstance(phase, tuple) and phase[0] == "keeping"]
    return all(is_whole(view.files, snap) for snap in kept)


def reads_all_before_it_deletes(step: Step) -> bool:
    """E2: an expiry deletes files only when it has read all; and none as long as a tag cannot be read."""
    is_file = step.op.kind == Kind.DELETE and step.op.path[0] in ("data", "meta")
    if not is_file or not step.actor.startswith("expiry"):
        return True
    is_planned = isinstance(step.phase, tuple) and step.phase[0] == "deleting"
    return is_planned and DAMAGED not in step.before.values()


def an_expiry_deletes_what_it_planned(step: Step) -> bool:
    """E4: an expiry deletes snapshots only as long as its mark is there: no other one has deleted them, and no rollback
    or fast-forward has given their ids to others."""
    if step.op.kind != Kind.DELETE or step.op.path[0] != "snapshot" or not isinstance(step.phase, tuple):
        return True
    if step.phase[0] != "deleting" or step.op.path not in step.before:
        return True
    return step.phase[3] in step.before or step.before == step.after


def nothing_is_left_over(view: View) -> bool:
    """E3, T2 and T3: when the last job has ended, there is no file that nothing keeps."""
    if ("noted", "counts leftovers") not in view.files or "unknown" in failures(view):
        return True
    roots = [*snapshots(view.files), *tags(view.files).values()]
    kept: set[Path] = set().union(*map(files_of, roots)) if roots else set()
    files = {path for path in view.files if path[0] in ("data", "meta")}
    marks = [path for path in view.files if path[:1] == ("marks",) or path[2:3] == ("deleting",)]
    return files <= kept and not marks


def jobs_end_well(view: View) -> bool:
    """E5, E7, H3 and H4: what these scenarios are about keeps no job from its end."""
    wanted = {path[2]: content for path, content in view.files.items() if path[:2] == ("noted", "wanted")}
    return all(_first(view.outcomes.get(str(actor))) == outcome for actor, outcome in wanted.items())


def _first(outcome: object) -> object:
    return outcome[0] if isinstance(outcome, tuple) else outcome


def young_holds_stay(step: Step) -> bool:
    """H3: nobody but its holder deletes a hold that is not a day old."""
    path = step.op.path
    if step.op.kind != Kind.DELETE or path[2:3] != ("holding",) or path not in step.before:
        return True
    day = getattr(step.before[path], "day", 0)
    return path[4] == step.actor or path[4] == f"{step.actor}'" or day < int(str(step.before.get(("clock",), 0)))


def kept_states_are_whole(files: Files) -> bool:
    """T1 (and E1, E2, H1, H2, H5, T2, R6 with it): a tag has its files, unless its deletion is under way."""
    marked = {kept for path, kept in files.items() if path[2:3] == ("deleting",)}
    return all(is_whole(files, kept) for kept in tags(files).values() if kept not in marked)


def copies_and_deletions_differ(view: View) -> bool:
    """H5: of a copier and a deletion of the last tag of one snapshot, one has given up."""
    phases = [phase for phase in view.phases.values() if isinstance(phase, tuple)]
    gone = [(phase[1], number) for phase in phases if phase[0] == "untagging" for number in phase[2]]
    kept = [(phase[1], phase[2]) for phase in phases if phase[0] == "keeping"]
    return not set(gone) & set(kept)


def one_gets_the_name(view: View) -> bool:
    """T4: of two jobs that make a tag of one name, one is told that it is taken."""
    made = [o for o in view.outcomes.values() if isinstance(o, tuple) and o[0] == "tagged"]
    names = [o[1] for o in made]
    return len(set(names)) == len(names) and all(
        any(path[2] == o[1] and kept.uid == o[2] for path, kept in tags(view.files).items())
        for o in made
        if ("noted", "tags stay") in view.files
    )


def no_tag_of_a_removed_state(view: View) -> bool:
    """T5 and R3: when all have ended, no tag keeps a snapshot that a rollback has removed."""
    there = {s.uid for s in snapshots(view.files)}
    removed = {name[0] for name in noted(view.files, "removed")} - there
    return some_died(view) or not any(kept.uid in removed for kept in tags(view.files).values())


# ---------------------------------------------------------------------------------------------------- rollbacks, reads


def always_readable(files: Files) -> bool:
    """E6, R1, R4: there is a snapshot, and the newest is whole; a rollback leaves no gap between the old ones."""
    if ("noted", "may be empty") in files:
        return True
    top = newest(files)
    before = [s.id for s in snapshots(files, "main") if "." not in s.uid]
    if ("noted", "no gaps") in files and before != list(range(1, len(before) + 1)):
        return False
    return top is not None and is_whole(files, top)


def reads_one_state(view: View) -> bool:
    """F1: a read shows the rows of the snapshot that it has chosen."""
    known: dict[object, object] = {s.uid: s.live for s in snapshots(view.files)}
    shown = [o for o in view.outcomes.values() if isinstance(o, tuple) and o[0] == "rows"]
    return all(o[1] not in known or known[o[1]] == o[2] for o in shown)


def nothing_counts_as_lost(view: View) -> bool:
    """F2: a file that is missing because its snapshot expired is not reported as lost."""
    return "file lost" not in failures(view)


def tagged_reads_end(view: View) -> bool:
    """F3: no expiry comes between the plan of a read and its tag."""
    return "expired after the plan" not in failures(view)


def read_tags_outlive_snapshots(step: Step) -> bool:
    """F4: the tag of a read is deleted at its end only by who has seen its snapshot."""
    return step.op.kind != Kind.DELETE or step.op.path[0] != "tag" or step.phase != ("read", False)


def cleaning_spares_jobs(step: Step) -> bool:
    """F5: the removal of orphan files deletes no file that is in use or younger than its age."""
    if step.op.kind != Kind.DELETE or step.phase != ("cleaning",) or step.op.path not in step.before:
        return True
    day = getattr(step.before[step.op.path], "day", 0)
    roots = [*snapshots(step.before), *tags(step.before).values()]
    is_used = any(step.op.path in files_of(root) for root in roots)
    return not is_used and day < int(str(step.before.get(("clock",), 0)))


def batches_are_decided(view: View) -> bool:
    """E8 and C2: a stream that is started again knows of its batch, and it is in the table once."""
    if ("noted", "streams") not in view.files:
        return True
    top = newest(view.files)
    made = [uid for uid in (frozenset() if top is None else top.lineage) if str(uid).startswith("stream")]
    is_known = ("noted", "streams at once") in view.files or "unknown" not in failures(view)
    return len(made) <= 1 and is_known


CHECKS = Checks(
    of_files={
        "C2": is_made_once,
        "C7 E3": nothing_is_deleted_in_doubt,
        "C9": time_goes_on,
        "C12": row_ids_go_on,
        "C13": columns_fit_their_rows,
        "C14": iceberg_says_what_is_live,
        "T1 T2 R6": kept_states_are_whole,
        "E6 R1 R4": always_readable,
    },
    of_steps={
        "C1": lambda step: names_only_what_is_there(step) and is_never_changed(step),
        "C4 C5": stands_on_what_stays,
        "C8": deletes_only_its_own,
        "C11": expires_its_table,
        "C14": iceberg_of_later_stay,
        "E2": reads_all_before_it_deletes,
        "E4": an_expiry_deletes_what_it_planned,
        "H3": young_holds_stay,
        "R2": removes_what_stands_on_nothing,
        "F4": read_tags_outlive_snapshots,
        "F5": cleaning_spares_jobs,
    },
    of_states={"E1 H1": one_sees_the_other, "H2": held_states_are_whole, "H5": copies_and_deletions_differ},
    of_ends={
        "S1 S2": one_creates,
        "C3": fits_its_base,
        "C4 C6": no_commit_is_lost,
        "C5 R2 R5": nothing_removed_comes_back,
        "C8": a_failure_leaves_nothing,
        "C10": lambda view: hint_names_what_is_there(view) and no_old_state_is_latest(view),
        "C11": lambda view: commits_to_its_table(view) and reads_its_table(view),
        "C14": iceberg_changes_no_commit,
        "E3 T2 T3": nothing_is_left_over,
        "E5 E7 H3 H4": jobs_end_well,
        "T4": one_gets_the_name,
        "T5 R3": no_tag_of_a_removed_state,
        "F1": reads_one_state,
        "F2": nothing_counts_as_lost,
        "F3": tagged_reads_end,
        "E8 C2": batches_are_decided,
    },
)
