"""Manifests are decoded in pieces: decoded, they take many times the memory of their bytes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as hs

from paimon_spark.format.options.option import MB
from paimon_spark.store.expire.reading import pieces


@given(hs.lists(hs.integers(0, 9 * MB) | hs.integers(0, 100), max_size=300))
def test_a_piece_is_of_64_manifests_and_of_4_mb_at_most(sizes: list[int]) -> None:
    found = list(pieces(enumerate(sizes), lambda manifest: manifest[1]))
    assert [manifest for piece in found for manifest in piece] == list(enumerate(sizes))
    for piece in found:
        assert 1 <= len(piece) <= 64
        assert len(piece) == 1 or sum(size for _, size in piece) <= 4 * MB
    for piece, following in pairwise(found):  # no piece is smaller than it must be
        assert len(piece) == 64 or sum(size for _, size in (*piece, following[0])) > 4 * MB
