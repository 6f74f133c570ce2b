"""When ``./dev bench --compare`` says that a line is slower than in another commit, and how it looks again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.compare import ROUNDS, Compared, Times, checkout, compared, in_turns, report


@pytest.mark.parametrize(
    ("old", "new", "slower"),
    [
        ((1.0, 1.0), (1.2, 1.3), True),
        ((1.0, 1.0), (1.05, 1.09), False),
        ((1.0, 1.0), (1.5, 1.0), False),
        ((1.0, 1.0), (1.0, 1.5), False),
        ((2.0, 1.0), (1.9, 1.2), False),
        ((1.0, 2.0), (1.2, 2.4), True),
        ((2.0, 1.0), (2.5, 1.09), False),
        ((1.0, 1.0), (0.5, 0.5), False),
        ((), (1.0, 1.0), False),
    ],
    ids=str,
)
def test_a_line_is_slower_if_it_is_in_every_pair_of_turns(
    old: tuple[float, ...], new: tuple[float, ...], slower: bool
) -> None:
    assert Compared("x", old, new).is_slower is slower


def test_lines_by_their_turns() -> None:
    old = [{"a": 1.0, "gone": 1.0}, {"a": 2.0, "gone": 1.0}]
    new = [{"a": 3.0, "new": 5.0}, {"a": 4.0, "new": 6.0}]
    assert compared(old, new) == [Compared("a", (1.0, 2.0), (3.0, 4.0)), Compared("new", (), (5.0, 6.0))]
    del old[1]["a"], new[0]["new"]
    found = compared(old, new)
    assert found == [Compared("a", (1.0,), (3.0,)), Compared("new", (), (6.0,))]
    assert not found[1].is_slower


def test_the_table_names_both_the_ratio_and_the_slow_ones() -> None:
    lines = [Compared("a", (1.0, 2.0), (0.5, 3.0)), Compared("b", (1.0,), (1.25,)), Compared("c", (), (4.0,))]
    assert report(lines, "v1").splitlines()[2:] == [
        "| a | 1.000 s | 0.500 s | 0.50 x |  |",
        "| b | 1.000 s | 1.250 s | 1.25 x | SLOWER |",
        "| c | - | 4.000 s | - | new |",
    ]


def rounds_of(old: list[float], new: list[float]) -> tuple[list[list[Compared]], str]:
    """What is found after each round of turns that take these times, and in which order the two commits ran."""
    order: list[str] = []
    olds, news = iter(old), iter(new)

    def turn(name: str, times: Iterator[float]) -> Times:
        order.append(name)
        return {"x": next(times)}

    found = list(in_turns(lambda: turn("A", olds), lambda: turn("B", news)))
    return found, "".join(order)


def test_one_round_is_enough_if_nothing_seems_slower() -> None:
    found, order = rounds_of([1.0, 1.0], [1.0, 1.0])
    assert (order, found) == ("ABBA", [[Compared("x", (1.0, 1.0), (1.0, 1.0))]])


def test_what_seems_slower_once_is_looked_at_again() -> None:
    found, order = rounds_of([1.0, 1.0, 1.0, 1.0], [1.5, 1.5, 1.0, 1.5])
    assert order == "ABBAABBA"
    assert [lines[0].is_slower for lines in found] == [True, False]


def test_what_is_slower_in_all_rounds_stays_slower() -> None:
    found, order = rounds_of([1.0] * 2 * ROUNDS, [1.2] * 2 * ROUNDS)
    assert order == "ABBA" * ROUNDS
    assert [lines[0].is_slower for lines in found] == [True] * ROUNDS


def test_another_commit_is_there_while_it_is_compared(tmp_path: Path) -> None:
    repository, place = tmp_path / "repository", tmp_path / "place"
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    for text in ("old", "new"):
        (repository / "file").write_text(text)
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", text], check=True)
    with checkout(repository, "HEAD~1", place):
        assert (place / "file").read_text() == "old"
    assert not place.exists()
    listed = subprocess.run([*git, "worktree", "list"], check=True, capture_output=True, text=True).stdout
    assert len(listed.splitlines()) == 1
    assert (repository / "file").read_text() == "new"
