"""Texts that are hashed together have the hashes that the library gives each of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xxhash import xxh64_intdigest

from paimon_spark.format.file_index.bloom import hash_texts


@pytest.mark.parametrize(("count", "longest"), [(4000, 40), (3000, 9), (100, 3), (1, 5), (0, 1), (200, 0)])
def test_many_at_once_and_one_by_one(count: int, longest: int) -> None:
    draws = random.Random(count)
    texts = [draws.randbytes(draws.randint(0, longest)) for _ in range(count)]
    lengths = np.array([len(text) for text in texts], np.int64)
    data = np.frombuffer(b"ab" + b"".join(texts) + b"c", np.uint8)
    expected = [xxh64_intdigest(text) for text in texts]
    assert hash_texts(data, np.cumsum(lengths) - lengths + 2, lengths).tolist() == expected


@pytest.mark.parametrize("count", [300, 20_000])
def test_texts_of_one_length_with_gaps(count: int) -> None:
    texts = [b"%08d" % number for number in range(count)]
    data = np.frombuffer(b"".join(text + b"-" * (number % 3) for number, text in enumerate(texts)), np.uint8)
    starts = np.cumsum([0] + [8 + number % 3 for number in range(count - 1)])
    assert hash_texts(data, starts, np.full(count, 8)).tolist() == [xxh64_intdigest(text) for text in texts]


@pytest.mark.parametrize(("length", "before"), [(16, 0), (16, 8), (16, 3), (13, 0)])
def test_texts_of_one_length_one_behind_the_other(length: int, before: int) -> None:
    count = 17_000
    texts = [b"%0*d" % (length, 10**12 - number) for number in range(count)]
    data = np.frombuffer(b"x" * before + b"".join(texts), np.uint8)
    starts = np.arange(count) * length + before
    assert hash_texts(data, starts, np.full(count, length)).tolist() == [xxh64_intdigest(text) for text in texts]
