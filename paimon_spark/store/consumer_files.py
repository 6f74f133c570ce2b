"""How far the consumers of a table have read (format section 3.5; Java: ConsumerManager)."""

from __future__ import annotations

from paimon_spark.file_io import FileIO
from paimon_spark.spec.json_text import parse_json_object
from paimon_spark.spec.paths import CONSUMER_PREFIX, branch_root


def consumer_positions(file_io: FileIO, table: str, branch: str = "main") -> dict[str, int]:
    """For each consumer the id of the snapshot it will read next.

    Raises:
        CorruptFile: a file of a consumer says something else.
    """
    positions = {}
    for status in file_io.list(f"{branch_root(table, branch)}/consumer"):
        if not status.name.startswith(CONSUMER_PREFIX) or status.is_directory:
            continue
        try:
            data = file_io.read_bytes(status.path)
        except FileNotFoundError:  # it was deleted meanwhile
            continue
        name = status.name.removeprefix(CONSUMER_PREFIX)
        positions[name] = parse_json_object(data, status.path).integer("nextSnapshot")
    return positions
