"""Any sequence of changes does to a catalog in files what it does to dictionaries, with the same errors."""

from __future__ import annotations

import random
import tempfile
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles.catalog_model import KINDS, CatalogModel, apply, begin, draw_change, state_of

from paimon_spark import open_catalog

DEFAULTS = {"file.format": "avro", "snapshot.num-retained.min": "3"}


@pytest.mark.parametrize("kind", ["disk", "object store"])
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 25))
def test_changes(kind: str, seed: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        warehouse = f"{folder}/lake" if kind == "disk" else f"memory://{uuid4().hex}/lake"
        defaults = {f"table-default.{key}": value for key, value in DEFAULTS.items()}
        catalog, model, draw = (
            open_catalog({"warehouse": warehouse, **defaults}),
            CatalogModel(DEFAULTS),
            random.Random(seed),
        )
        begin(catalog)
        for _ in range(steps):
            change = draw_change(draw)
            if kind != "disk" and change.kind == "rename_table":
                continue  # an object store has none
            assert apply(catalog, change) is model.apply(change), change
            assert catalog.list_databases() == sorted(model.databases)
        assert state_of(catalog) == model.databases


def test_every_kind_of_change_is_drawn() -> None:
    draw = random.Random(1)
    assert {draw_change(draw).kind for _ in range(100)} == set(KINDS)
