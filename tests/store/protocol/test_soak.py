"""The soak itself: it passes on what is right, decides what a killed process left, and finds what is planted.

``./dev soak`` runs it for hours, on a real S3 server, with the genuine Java.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.long_runs import draws, tries
from support.paths import ROOT, TESTS
from support.soak.expected import Different, Expectations, Shown, candidates
from support.soak.journal import Effect, Journal, JournalReader, Outcome, Step
from support.soak.keeper import Keeper
from support.soak.place import LOCAL, Place
from support.soak.process import FINDING, run_process
from support.soak.reader import Reader
from support.soak.rest import RestCheck
from support.soak.soak import Soak, Worker
from support.soak.statements import execute, foretell
from support.soak.tables import KEY, KINDS, LEAST_SNAPSHOTS, MARK, OWNER, VALUE, create_all, tables_of
from support.soak.totals import Totals
from support.soak.writer import ONCE, READ, STREAM, Writer, shown_at

from paimon_spark.store.holds.marks import write_mark

SECONDS = tries("PAIMON_SOAK_SECONDS", ci=5, long=600)
STEPS = 12


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Soak:
    """A soak that has come to its end."""
    place = _place(tmp_path_factory.mktemp("soaked"))
    soak = Soak(place, SECONDS, rest_seconds=max(SECONDS / 2, 4), kill_seconds=1.5, least_kills=3)
    soak.run()
    return soak


def test_processes_that_are_killed(soaked: Soak) -> None:
    assert soaked.totals.rests
    assert len(soaked.totals.kills) >= 3
    assert soaked.counts()  # nobody is killed before it has begun


def test_a_soak_goes_on(soaked: Soak, tmp_path: Path) -> None:
    """Where its last run was cut off: an operation is open, and a file is there that nothing names."""
    place = _copy(soaked.place, tmp_path)
    step = _begin_upsert(Writer(place, 0), "keys", ONCE)
    _a_file_is_left_over(place)
    place.pause()
    soak = Soak(place, 0)
    soak.run()
    assert JournalReader(place.journal("writer0")).read()[step.number - 1].decided == "it was not, and is done now"
    assert soak.totals.kills == soaked.totals.kills
    assert soak.totals.rests == soaked.totals.rests + 1
    assert soak.totals.orphans == soaked.totals.orphans + 1
    assert soak.totals.seconds > soaked.totals.seconds
    assert Totals.load(place.folder) == soak.totals


def test_a_soak_that_is_to_end_compares_first(soaked: Soak, tmp_path: Path) -> None:
    soak = Soak(_copy(soaked.place, tmp_path), 3600, is_ending=True)
    soak.run()
    assert soak.totals.rests == soaked.totals.rests + 1


def test_a_process_whose_soak_is_gone_ends(soaked: Soak, tmp_path: Path) -> None:
    place = _copy(soaked.place, tmp_path)
    place.save()
    command = [sys.executable, "-m", "support.soak.work", "reader", str(place.folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TESTS)])}
    left = ["sh", "-c", '"$@" & exit', "sh", *command]
    subprocess.run(left, env=environment, stdout=subprocess.PIPE, timeout=300, check=True)  # to the end of the pipe


def test_the_processes_of_a_run_keep_its_folder(tmp_path: Path) -> None:
    place = _place(tmp_path)
    with place.locked() as lock:
        left = Worker("tail", ["tail", "-f", "/dev/null"], place.log("tail"), place.journal("tail"), lock)
        left.start()
    with (tmp_path / "lock").open("w") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        left.send(signal.SIGKILL)
        assert left.process is not None
        left.process.wait()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# ------------------------------------------------------------------------------------------------- what it has to find


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place where two writers and a keeper have worked, one after the other."""
    place = _place(tmp_path_factory.mktemp("soak"), draws().randrange(10**6))
    place.save()
    create_all(place)
    for kind in tables_of(place, 0):
        _upsert(place, kind.name, 4)
    processes = [Writer(place, 0), Writer(place, 1), Keeper(place, "keeper")]
    for number in range(STEPS):
        for process in processes[: 3 if number % 3 == 0 else 2]:
            process.step()
    return place


@pytest.fixture
def place(worked: Place, tmp_path: Path) -> Place:
    """A copy of it, on which nobody works; one more row of writer0 is in the table `keys`."""
    copied = _copy(worked, tmp_path)
    _upsert(copied, "keys", 6)
    return copied


def test_what_is_right(place: Place) -> None:
    RestCheck(place).run([])


def test_an_expiry_that_was_killed(place: Place) -> None:
    """The files of old snapshots are gone then, and these are there still."""
    _break_off_an_expiry(place, LEAST_SNAPSHOTS)
    RestCheck(place).run([])


def _an_expiry_takes_too_much(place: Place) -> None:
    _break_off_an_expiry(place, LEAST_SNAPSHOTS - 1)


def _break_off_an_expiry(place: Place, kept: int) -> None:
    """Leaves what it does up to the first manifest that it deletes."""
    for key in range(10, 10 + 2 * LEAST_SNAPSHOTS, 2):
        _upsert(place, "keys", key)
    table = place.open("keys")
    for name in table.system_table("tags", "tag_name").to_arrow()["tag_name"].to_pylist():
        table.delete_tag(name)
    snapshots = table.snapshots
    first, end = snapshots.load(snapshots.ids()[0]), snapshots.ids()[-kept]
    write_mark(snapshots, end, snapshots.load(end))
    Path(place.location("keys"), "manifest", first.delta_manifest_list).unlink()


def _another_value_is_expected(place: Place) -> None:
    path = place.journal("writer0")
    lines = path.read_text().splitlines()
    begun = json.loads(lines[-2])
    begun["puts"] = [[[key, 2 if key == VALUE else value] for key, value in row] for row in begun["puts"]]
    path.write_text("\n".join([*lines[:-2], json.dumps(begun), lines[-1], ""]))


def _a_commit_is_dropped(place: Place) -> None:
    table = place.open("keys")
    table.rollback(snapshot=table.snapshots.latest().id - 1)


def _a_row_is_changed(place: Place) -> None:
    place.open("keys").update("k = 6", {"v": 2})


def _a_row_is_there_twice(place: Place) -> None:
    for _ in range(2):
        place.open("log").append([{"k": 8, "o": 0, "v": 1, "m": 1, "s": "x"}], {"write.missing-columns": "null"})


def _a_row_is_of_nobody(place: Place) -> None:
    place.open("sums").append([{"k": 9, "o": 7, "v": 1, "m": 1, "s": "x"}], {"write.missing-columns": "null"})


def _a_copy_lacks_a_change(place: Place) -> None:
    RestCheck(place).run([])
    place.open("keys_copy").delete("k = 6")


def _a_file_is_lost(place: Place) -> None:
    next(Path(place.location("keys")).glob("bucket-*/data-*.parquet")).unlink()


def _a_file_is_left_over(place: Place) -> None:
    bucket = Path(place.location("keys"), "bucket-0")
    bucket.mkdir(exist_ok=True)
    (bucket / "data-left-0.parquet").write_bytes(b"")


PLANTED = (
    _another_value_is_expected,
    _a_commit_is_dropped,
    _a_row_is_changed,
    _a_row_is_there_twice,
    _a_row_is_of_nobody,
    _a_copy_lacks_a_change,
    _a_file_is_lost,
    _a_file_is_left_over,
    _an_expiry_takes_too_much,
)


@pytest.mark.parametrize("plant", PLANTED)
def test_what_is_planted_is_found(place: Place, plant: Callable[[Place], None]) -> None:
    plant(place)
    with pytest.raises(
        Exception, match=r"differ|twice|nobody wrote|orphans|No such file|missing|does not exist|are whole"
    ):
        RestCheck(place).run([])


def test_a_process_tells_what_it_finds(place: Place) -> None:
    _a_row_is_changed(place)
    for number in range(200):
        reader = Reader(place, f"reader{number}")
        reader.run = reader.step  # type: ignore[method-assign]  # one step of it
        status = run_process(reader)
        if status == FINDING:
            break
    finding = json.loads((place.folder / f"finding-{reader.name}.json").read_text())
    assert "Different: keys at snapshot" in finding["error"]
    assert "1 keys differ: [6]" in finding["error"]


# ------------------------------------------------------------------------------------------- what a kill leaves unknown


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize(("table", "mode"), [(t, m) for t in ("keys", "sums", "log") for m in (ONCE, READ, STREAM)])
def test_an_unknown_outcome_is_decided(worked: Place, tmp_path: Path, table: str, mode: str, is_done: bool) -> None:
    place = _copy(worked, tmp_path)
    step = _begin_upsert(Writer(place, 0), table, mode)
    if is_done:
        names = ("w0", step.number) if mode == ONCE else None, ("s0", step.number) if mode == STREAM else None
        execute(place.open(table), dict(step.call), *names)
    shown = shown_at(place, table, place.open(table).snapshots.latest().id)
    Expectations(place).compare(KINDS[table], shown)  # both outcomes may be
    again = Writer(place, 0)
    again.recover()
    decided = again.journal.steps[step.number - 1]
    assert decided.decided == ("it was done" if is_done else "it was not done" if mode == READ else decided.decided)
    assert decided.outcome == (Outcome.NOTHING if mode == READ and not is_done else Outcome.DONE)
    RestCheck(place).run([])


def test_states_that_may_be() -> None:
    one, two = (_step(number, {number: {KEY: number}}) for number in (1, 2))
    done = replace(one, outcome=Outcome.DONE, snapshot=4)
    assert candidates([done], 3) == [{}]
    assert candidates([done], 4) == [{1: {KEY: 1}}]
    assert candidates([done, two], 4) == [{1: {KEY: 1}}]  # it began when snapshot 4 was there
    assert candidates([done, two], 5) == [{1: {KEY: 1}}, {1: {KEY: 1}, 2: {KEY: 2}}]
    seen = replace(two, outcome=Outcome.DONE, by=7)
    assert candidates([done, seen], 6) == [{1: {KEY: 1}, 2: {KEY: 2}}, {1: {KEY: 1}}]
    assert candidates([done, seen], 7) == [{1: {KEY: 1}, 2: {KEY: 2}}]
    assert candidates([done, replace(two, outcome=Outcome.NOTHING)], 9) == [{1: {KEY: 1}}]
    three = replace(_step(3, {3: {KEY: 3}}), outcome=Outcome.DONE, by=9)
    assert candidates([done, seen, three], 8) == [
        {1: {KEY: 1}, 2: {KEY: 2}, 3: {KEY: 3}},  # the second is there, of the third nobody can tell
        {1: {KEY: 1}, 2: {KEY: 2}},
    ]
    assert candidates([done, seen, three], 6) == [{1: {KEY: 1}}, {1: {KEY: 1}, 2: {KEY: 2}}]  # not the third alone
    fenced = replace(seen, decided="it was done")  # in snapshot 7, which came behind that of the fence
    assert candidates([done, fenced, replace(three, by=6)], 6) == [{1: {KEY: 1}, 2: {KEY: 2}, 3: {KEY: 3}}]


def test_a_table_that_shows_rows_late_shows_no_other_ones(place: Place) -> None:
    kind = KINDS["vectors"]
    steps = Expectations(place).steps(0, "vectors")
    keys = sorted({key for step in steps for key in step.effect.puts} | {0})
    strange = [{KEY: keys[0], OWNER: 0, VALUE: -77}]
    with pytest.raises(Different, match="1 keys differ"):
        Expectations(place).compare(kind, Shown(10**6, range(5), strange), owners=[0])
    Expectations(place).compare(kind, Shown(10**6, range(5), []), owners=[0])


def test_a_line_that_was_cut_off_was_not_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.done(journal.begin("t", "upsert", effect=Effect({1: {KEY: 1}}, (2,))), snapshot=3)
    with path.open("a") as file:
        file.write('{"begin": 2, "tab')
    assert len(JournalReader(path).read()) == 1
    again = Journal(path)
    assert again.begin("t", "expiry").number == 2
    first, second = JournalReader(path).read()
    assert (first.effect, first.snapshot, first.outcome) == (Effect({1: {KEY: 1}}, (2,)), 3, Outcome.DONE)
    assert second.outcome == Outcome.OPEN


def _upsert(place: Place, table: str, key: int) -> None:
    """Writer0 writes a row."""
    writer = Writer(place, 0)
    call = {"statement": "upsert", "owner": 0, "rows": [[[KEY, key], [OWNER, 0], [VALUE, 1], [MARK, 1]]]}
    effect = foretell(KINDS[table], call, writer.state(KINDS[table]))
    writer.attempt(writer.journal.begin(table, "upsert", ONCE, call, effect), place.open(table))


def _begin_upsert(writer: Writer, table: str, mode: str) -> Step:
    """An operation of writer0 that was cut off before it did anything."""
    number = len(writer.journal.steps) + 1
    call = {"statement": "upsert", "owner": 0, "rows": [[[KEY, 10**6], [OWNER, 0], [VALUE, 5], [MARK, number]]]}
    effect = foretell(KINDS[table], call, writer.state(KINDS[table]))
    return writer.journal.begin(table, "upsert", mode, call, effect)


def _copy(place: Place, folder: Path) -> Place:
    shutil.copytree(place.folder, folder / "soak")
    return replace(place, folder=folder / "soak", root=str(folder / "soak" / "data"))


def _step(number: int, puts: dict[int, dict[int, int]]) -> Step:
    return Step(number, "t", "upsert", ONCE, {}, Effect(puts), 0.0)


def _place(folder: Path, seed: int = 1) -> Place:
    return Place(folder, str(folder / "data"), {}, LOCAL, seed, owners=2)
