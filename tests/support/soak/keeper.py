"""A process that keeps the tables small and changes their columns: it changes no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from paimon_spark import check
from paimon_spark.errors import NameTaken, SchemaError
from support.soak.expected import Different
from support.soak.process import Process
from support.soak.tables import LEAST_SNAPSHOTS, TEXT, Kind, written_tables

_YOUNG = timedelta(seconds=45)
_MOST_TAGS = 4
_MOST_COLUMNS = 4


class Keeper(Process):
    """Compacts, expires, tags, alters and cleans."""

    def step(self) -> None:
        random = self.random()
        kind = random.choice(written_tables(self.place))
        operations: Mapping[Callable[[Kind, Random], None], int] = {
            self._compact: 8,
            self._merge_manifests: 1,
            self._expire: 5,
            self._tag: 4,
            self._alter: 3 if kind.evolves else 0,
            self._remove_orphans: 1,
            self._check: 1,
        }
        random.choices([*operations], [*operations.values()])[0](kind, random)

    def _compact(self, kind: Kind, random: Random) -> None:
        if kind.java and not self.place.shared_with_java:
            return  # Java alone commits to it
        names = [kind.name, *([kind.copy] if kind.copied else [])]
        name, full = random.choice(names), random.random() < 0.3
        with self.journaled(name, "full compaction" if full else "compaction"):
            self.place.open(name).with_options({"write-only": "false"}).compact(full=full)

    def _merge_manifests(self, kind: Kind, random: Random) -> None:
        if kind.java and not self.place.shared_with_java:
            return
        with self.journaled(kind.name, "merge of manifests"):
            self.place.open(kind.name).compact_manifest()

    def _expire(self, kind: Kind, random: Random) -> None:
        keep = random.choice([LEAST_SNAPSHOTS, 10, 30])
        with self.journaled(kind.name, "expiry"):
            table = self.place.open(kind.name)
            table.expire_snapshots(retain_max=1000, retain_min=keep, older_than=datetime.now(UTC) - _YOUNG)

    def _tag(self, kind: Kind, random: Random) -> None:
        table = self.place.open(kind.name)
        tags = sorted(table.system_table("tags", "tag_name").to_arrow()["tag_name"].to_pylist())
        if tags and (len(tags) >= _MOST_TAGS or random.random() < 0.4):
            with self.journaled(kind.name, "deletion of a tag"):
                table.delete_tag(random.choice(tags))
            return
        ids = table.system_table("snapshots", "snapshot_id").to_arrow()["snapshot_id"].to_pylist()
        chosen = random.choice([None, *ids[-20:]])
        if ids:
            with self.journaled(kind.name, "tag", (NameTaken,)):
                table.create_tag(f"t{len(self.journal.steps)}", snapshot=chosen)

    def _alter(self, kind: Kind, random: Random) -> None:
        table = self.place.open(kind.name)
        extras = [field for field in table.schema.fields if field.id > TEXT]
        number = len(self.journal.steps) + 1
        operations: list[str] = ["add"] if len(extras) < _MOST_COLUMNS else ["drop"]
        operations += ["rename", "widen"] if extras else []
        operation = random.choice(operations)
        chosen = random.choice(extras) if extras else None
        with self.journaled(kind.name, f"column: {operation}", (SchemaError,)), table.update_schema() as change:
            if operation == "add" or chosen is None:
                change.add_column(f"x{number}", "INT")
            elif operation == "drop":
                change.drop_column(chosen.name)
            elif operation == "rename":
                change.rename_column(chosen.name, f"y{number}")
            else:
                change.update_type(chosen.name, "BIGINT")

    def _remove_orphans(self, kind: Kind, random: Random) -> None:
        with self.journaled(kind.name, "removal of orphans"):  # those of a day ago; younger ones are of jobs at work
            self.place.open(kind.name).remove_orphan_files(dry_run=False)

    def _check(self, kind: Kind, random: Random) -> None:
        with self.journaled(kind.name, "check"):
            report: Any = check(self.place.location(kind.name), dict(self.place.options))
            if not report.is_good:
                raise Different(f"check of {kind.name}: {report}")
