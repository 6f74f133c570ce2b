"""Buckets of new keys: text cases, Java's among them, and a model that takes one hash after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.buckets.bucket_assigner import (
    UNKNOWN,
    BucketFilling,
    BucketRules,
    KnownHashes,
    PartitionIndex,
    bucket_rules,
    channel_of,
    hash_groups,
    open_buckets,
    spread,
)

CASES = Path(__file__).parent / "assigner_cases" / "hash_assigner.txt"
HASHES = st.one_of(st.integers(-8, 8), st.sampled_from([-(2**31), 2**31 - 1]), st.integers(-(2**31), 2**31 - 1))


def int32(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, np.int32)


@dataclass
class Case:
    title: str
    options: dict[str, str] = field(default_factory=dict)
    assigner: tuple[int, int] = (0, 1)
    index: dict[int, list[int]] = field(default_factory=dict)
    calls: list[tuple[str, list[int], str]] = field(default_factory=list)

    def partition(self, name: str) -> PartitionIndex:
        index = self.index if name == "p1" else {}
        hashes = [h for found in index.values() for h in found]
        buckets = [bucket for bucket, found in index.items() for _ in found]
        rules = bucket_rules(TableSettings(self.options), partitioned=True)
        counts = {bucket: len(found) for bucket, found in index.items()}
        return PartitionIndex(KnownHashes(int32(hashes), int32(buckets)), BucketFilling(counts, rules, *self.assigner))


def numbers(text: str) -> Iterator[int]:
    for word in text.split():
        if match := re.fullmatch(r"(\d+)\.\.(\d+)(?:/(\d+))?", word):
            yield from range(int(match[1]), int(match[2]) + 1, int(match[3] or 1))
        elif match := re.fullmatch(r"(\d+)\*(\d+)", word):
            yield from [int(match[2])] * int(match[1])
        else:
            yield int(word)


def load_cases() -> Iterator[Case]:
    for block in re.split(r"^== ", CASES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, *lines = [line.strip() for line in block.splitlines() if line.strip()]
        case = Case(title)
        for line in lines:
            if match := re.fullmatch(r"(p\d): (.*) => (.*)", line):
                case.calls.append((match[1], list(numbers(match[2])), match[3]))
            elif match := re.fullmatch(r"index: (\d+): (.*)", line):
                case.index[int(match[1])] = list(numbers(match[2]))
            elif match := re.fullmatch(r"assigner: (\d) of (\d)", line):
                case.assigner = int(match[1]), int(match[2])
            elif not line.startswith("--"):
                key, value = line.split(" = ")
                case.options[key] = value
        yield case


@pytest.mark.parametrize("case", list(load_cases()), ids=lambda case: case.title)
def test_case(case: Case) -> None:
    assert case.calls
    partitions: dict[str, PartitionIndex] = {}
    for name, hashes, expected in case.calls:
        index = partitions.setdefault(name, case.partition(name))
        found = index.assign(int32(hashes)).tolist()
        if expected.startswith("any of"):
            assert set(found) <= set(numbers(expected.removeprefix("any of")))
        else:
            assert found == list(numbers(expected))
        assert index.assign(int32(hashes)).tolist() == found


def test_channels_of_keys() -> None:
    """Java: BucketAssignerTest.testComputeAssigner."""
    top = 2**31 - 1
    for partition, key, channels, assigners, expected in [
        (top, 0, 5, 5, 2), (top, 1, 5, 5, 3), (top, 2, 5, 5, 4), (top, 3, 5, 5, 0),
        (2, 0, 5, 3, 2), (2, 1, 5, 3, 3), (2, 2, 5, 3, 4), (2, 3, 5, 3, 2), (3, 1, 5, 1, 3), (3, 2, 5, 1, 3),
        (-(2**31), -(2**31), 7, 7, 4), (-1, -3, 5, 2, 2),
    ]:  # fmt: skip
        assert channel_of(int32([partition]), int32([key]), channels, assigners).tolist() == [expected]


@given(st.integers(1, 6), st.integers(1, 6), HASHES, st.lists(HASHES, min_size=1))
def test_channels_of_a_partition_own_different_buckets(
    assigners: int, times: int, partition: int, hashes: list[int]
) -> None:
    channels = set(channel_of(int32([partition]), int32(hashes), assigners * times, assigners).tolist())
    assert len({channel % assigners for channel in channels}) == len(channels)


@given(st.data())
def test_filling_against_one_hash_after_the_other(data: st.DataObject) -> None:
    assigners = data.draw(st.integers(1, 3))
    assigner = data.draw(st.integers(0, assigners - 1))
    most = data.draw(st.sampled_from([-1, 4, 9]))
    options = {
        "dynamic-bucket.target-row-num": str(data.draw(st.integers(1, 4))),
        "dynamic-bucket.max-buckets": f"{most}",
    }
    rules = bucket_rules(TableSettings(options), partitioned=True)
    known = data.draw(st.dictionaries(HASHES, st.integers(0, 11), max_size=12))
    counts = {bucket: list(known.values()).count(bucket) for bucket in known.values()}
    index = PartitionIndex(
        KnownHashes(int32(list(known)), int32(list(known.values()))), BucketFilling(counts, rules, assigner, assigners)
    )
    own = {bucket: count for bucket, count in counts.items() if bucket % assigners == assigner}
    placed, turn = dict(known), 0
    for batch in data.draw(st.lists(st.lists(HASHES, max_size=9), max_size=5)):
        expected = []
        for value in batch:
            if value not in placed:
                with_room = sorted(bucket for bucket, count in own.items() if count < rules.target)
                free = [b for b in range(rules.most) if b % assigners == assigner and b not in own][:1]
                if with_room or free:
                    placed[value] = (with_room or free)[0]
                    own[placed[value]] = own.get(placed[value], 0) + 1
                else:
                    placed[value] = sorted(own)[turn % len(own)]
                    turn += 1
            expected.append(placed[value])
        assert index.assign(int32(batch)).tolist() == expected


@given(st.lists(st.sets(HASHES, max_size=6), max_size=6), st.booleans())
def test_known_hashes_are_found_whatever_the_order(batches: list[set[int]], ascends: bool) -> None:
    known, model = KnownHashes(int32([3, -5]), int32([7, 32766])), {3: 7, -5: 32766}
    if ascends:
        every = sorted(set().union(*batches))
        batches = [set(every[i : i + 3]) | set(every[max(i - 1, 0) : i]) for i in range(0, len(every), 3)]
    for number, batch in enumerate(batches):
        hashes = sorted(batch)
        assert known.find(int32(hashes)).tolist() == [model.get(value, UNKNOWN) for value in hashes]
        new = [value for value in hashes if value not in model]
        known.add(int32(new), int32([number] * len(new)))
        model |= dict.fromkeys(new, number)


@pytest.mark.parametrize(
    ("rows", "most", "expected"),
    [
        ({}, -1, (0, 1)),
        ({0: 10}, -1, (1, 2)),
        ({0: 10, 1: 9, 4: 0}, -1, (1, 4)),
        ({0: 10, 2: 11, 3: 10}, -1, (1, 4, 5)),
        ({0: 10, 2: 11, 3: 10}, 5, (1, 4)),
        ({0: 10, 1: 10}, 2, (0, 1)),
        ({0: 10, 5: 10}, 1, (0, 5)),
        ({}, 1, (0,)),
    ],
)
def test_new_hashes_of_tasks_that_cannot_talk_are_spread(
    rows: dict[int, int], most: int, expected: tuple[int, ...]
) -> None:
    rules = BucketRules(10, min(2, most if most > 0 else 2), most if most > 0 else 32_767, most > 0)
    buckets = open_buckets(rows, rules)
    assert buckets == expected
    hashes = np.random.default_rng(1).integers(-(2**31), 2**31, 1000).astype(np.int32)
    found = spread(hashes, buckets)
    assert set(found.tolist()) == set(expected)
    assert spread(hashes[::-1], buckets).tolist() == found[::-1].tolist()
    assert np.bincount(found)[list(buckets)].min() > 500 / len(buckets)


def test_too_many_buckets_are_an_error() -> None:
    filling = BucketFilling({}, BucketRules(1, 1, 3, False))
    with pytest.raises(DataError, match="more than 32767 buckets of 1 keys; raise"):
        filling.take(4)
    with pytest.raises(DataError, match="more than 32767 buckets"):
        open_buckets({0: 1, 1: 1, 2: 1}, BucketRules(1, 1, 3, False))


def test_rules_of_options() -> None:
    assert bucket_rules(TableSettings({}), partitioned=True) == BucketRules(2_000_000, 1, 32_767, False)
    assert bucket_rules(TableSettings({}), partitioned=False) == BucketRules(2_000_000, 4, 32_767, False)
    keys = {"dynamic-bucket.initial-buckets": "9", "dynamic-bucket.max-buckets": "3"}
    assert bucket_rules(TableSettings(keys), partitioned=True) == BucketRules(2_000_000, 3, 3, True)
    for key in ("target-row-num", "initial-buckets", "max-buckets"):
        with pytest.raises(OptionError, match=rf"dynamic-bucket\.{key}' is 0, expected at least 1"):
            bucket_rules(TableSettings({f"dynamic-bucket.{key}": "0"}), partitioned=False)


@given(st.lists(st.integers(0, 20)), st.integers(1, 30))
def test_index_files_are_read_in_groups(counts: list[int], limit: int) -> None:
    groups = list(hash_groups(counts, limit))
    assert [i for group in groups for i in group] == list(range(len(counts)))
    assert all(len(group) == 1 or sum(counts[i] for i in group) <= limit or not counts[group[0]] for group in groups)
