"""Tags, rollback and consumers as Java does them: of two copies of a table the same files remain."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import java_tags
import our_engine
import pytest
from expiry_histories import stored
from genuine import Genuine

from paimon_spark import open_table
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.consumers import reset_consumer
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.holds.consumer_files import consumer_positions

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "v": "STRING"}


def lived(path: str, seed: int) -> random.Random:
    """A table with a life, tags of some of its snapshots, and only the last snapshots left."""
    draw = random.Random(seed)
    options = {"bucket": "1", "changelog-producer": draw.choice(["none", "input"])}
    our_engine.create(path, COLUMNS, ["k"], [], options)
    for step in range(7):
        our_engine.write(path, [([(draw.randrange(4), f"v{step}")], None)])
        if draw.random() < 0.5:
            our_engine.compact(path, full=True)
    for number in draw.sample(our_engine.snapshot_ids(path), 4):
        create_tag(open_table(path), f"t{number}", number)
    expire_snapshots(open_table(path), retain_max=2, retain_min=1)
    return draw


@pytest.mark.parametrize("seed", range(4))
def test_the_same_files_remain(seed: int, java: Genuine, tmp_path: Path) -> None:
    mine, javas = str(tmp_path / "mine"), str(tmp_path / "javas")
    draw = lived(mine, seed)
    shutil.copytree(mine, javas)
    tags = open_table(mine).snapshots.tag_names()
    for name in draw.sample(tags, 2):
        delete_tags(open_table(mine), name)
        java.run(java_tags.delete_tag, javas, name)
        assert stored(mine) == stored(javas)
    target = draw.choice([*open_table(mine).snapshots.ids(), *open_table(mine).snapshots.tag_names()])
    rollback(open_table(mine), snapshot=target) if isinstance(target, int) else rollback(open_table(mine), tag=target)
    java.run(java_tags.rollback, javas, target)
    assert stored(mine) == stored(javas)
    assert our_engine.read(mine) == our_engine.read(javas)
    assert our_engine.snapshot_ids(mine) == our_engine.snapshot_ids(javas)


def test_tags_and_consumers_of_one_are_those_of_the_other(java: Genuine, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    our_engine.create(path, COLUMNS, ["k"], [], {"bucket": "1"})
    for number in (1, 2):
        our_engine.write(path, [([(1, f"v{number}")], None)])
    table = open_table(path)
    create_tag(table, "ours", 1)
    create_tag(table, "ours_short", 2, time_retained="5 h")
    java.run(java_tags.create_tag, path, "javas", 1, 7)
    assert java.run(java_tags.tags, path) == {"ours": (1, None), "ours_short": (2, 18000), "javas": (1, 25200)}
    tag = table.snapshots.find_tag("javas")
    assert tag is not None
    assert (tag.snapshot.id, tag.time_retained) == (1, 25200 * 10**9)
    reset_consumer(table, "ours", 2)
    java.run(java_tags.reset_consumer, path, "javas", 1)
    assert java.run(java_tags.consumers, path) == {"ours": 2, "javas": 1}
    assert consumer_positions(table.file_io, path) == {"ours": 2, "javas": 1}
