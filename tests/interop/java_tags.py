"""Tags, rollback and consumers by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any

import jpype
from java_table import table_at


def create_tag(paimon: Any, path: str, name: str, snapshot_id: int, hours: int) -> None:
    table_at(paimon, path).createTag(name, snapshot_id, jpype.java.time.Duration.ofHours(hours))


def delete_tag(paimon: Any, path: str, name: str) -> None:
    table_at(paimon, path).deleteTag(name)


def rollback(paimon: Any, path: str, target: int | str) -> None:
    table = table_at(paimon, path)
    table.rollbackTo(jpype.JLong(target) if isinstance(target, int) else jpype.JString(target))


def tags(paimon: Any, path: str) -> dict[str, tuple[int, int | None]]:
    """For each tag its snapshot, and how many seconds it lives."""
    found = {}
    for pair in table_at(paimon, path).tagManager().tagObjects():
        tag, retained = pair.getLeft(), pair.getLeft().getTagTimeRetained()
        found[str(pair.getRight())] = (int(tag.id()), None if retained is None else int(retained.getSeconds()))
    return found


def consumers(paimon: Any, path: str) -> dict[str, int]:
    found = _consumers(paimon, path).consumers()
    return {str(entry.getKey()): int(entry.getValue()) for entry in found.entrySet()}


def reset_consumer(paimon: Any, path: str, name: str, next_snapshot: int) -> None:
    _consumers(paimon, path).resetConsumer(name, paimon.consumer.Consumer(jpype.JLong(next_snapshot)))


def _consumers(paimon: Any, path: str) -> Any:
    return paimon.consumer.ConsumerManager(paimon.fs.local.LocalFileIO.create(), paimon.fs.Path(path))
