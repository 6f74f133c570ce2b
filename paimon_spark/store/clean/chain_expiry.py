"""Which partitions of a chain table expire (Java: ChainTablePartitionExpire).

Partitions with changes are made of the whole partition before them, so they go in segments: a whole partition with the
changes up to the next whole one. Of the whole partitions of a chain that are too old the newest stays, with the changes
after it: all later partitions may be made of it. A chain without two such whole partitions loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from paimon_spark.errors import DataError, OptionError, UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.store.commit.attempt import live_partitions
from paimon_spark.store.commit.chain_branches import branch_of
from paimon_spark.store.metadata.chains import Chains, Values
from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class ExpiredSegments:
    """The partitions that go, of all chains of a table.

    Attributes:
        whole, changes: the branches that they are of.
        whole_rows, change_rows: the partitions, oldest segments first.
        without_time: partitions that stay because their values tell no time.
    """

    whole: Table
    changes: Table
    whole_rows: tuple[bytes, ...]
    change_rows: tuple[bytes, ...]
    without_time: tuple[bytes, ...]


def expired_segments(table: Table, limit: int, most: int) -> ExpiredSegments:
    """The partitions of both branches that expire.

    Args:
        table: any branch of the chain table, with the options `partition.*` of the call.
        limit: local nanoseconds; what is older is too old.
        most: how many segments of a chain go at most, the oldest.

    Raises:
        OptionError: the options name no branches, or partitions expire by the time of their last change.
        SnapshotNotFound: there is no such branch.
        CorruptFile: metadata is missing or damaged.
    """
    scan, strategy = table.settings.scan, table.settings.partitions.expiration_strategy
    if strategy != "values-time":
        raise OptionError(
            f"expiring partitions of the chain table {table.location}: "
            f"'{PartitionSettings.expiration_strategy.key}' is '{strategy}', and partitions of chains expire by their "
            "values only: set it to 'values-time'"
        )
    if not scan.fallback_snapshot_branch or not scan.fallback_delta_branch:
        raise OptionError(
            f"expiring partitions of the chain table {table.location}: its options "
            f"'{ScanSettings.fallback_snapshot_branch.key}' and '{ScanSettings.fallback_delta_branch.key}' do not name "
            "its branches; set them"
        )
    whole, changes = branch_of(table, scan.fallback_snapshot_branch), branch_of(table, scan.fallback_delta_branch)
    times = _Times(Chains(table))
    of_whole, of_changes = times.by_chain(live_partitions(whole)), times.by_chain(live_partitions(changes))
    gone: list[bytes] = []
    gone_changes: list[bytes] = []
    for chain, places in of_whole.items():
        old = [place for place in places if place.time < limit]
        end = min(len(old) - 1, most)  # the newest of them stays
        if end < 1:
            continue
        gone += (place.row for place in old[:end])
        segments = [(-(2**63), old[0].time), *((one.time, other.time) for one, other in pairwise(old[: end + 1]))]
        news = of_changes.get(chain, ())
        gone_changes += (place.row for start, end in segments for place in news if start <= place.time < end)
    return ExpiredSegments(whole, changes, tuple(gone), tuple(gone_changes), tuple(times.without))


@dataclass(frozen=True, order=True)
class _Place:
    """A partition in its chain, with its local nanoseconds."""

    place: Values
    time: int
    row: bytes


class _Times:
    """Partitions by their chain and time; collects those without one."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self.without: list[bytes] = []

    def by_chain(self, rows: Iterable[bytes]) -> dict[Values, Sequence[_Place]]:
        """The partitions of each chain in its order."""
        found: dict[Values, list[_Place]] = {}
        for row in rows:
            try:
                place = _Place(self._chains.place(row), self._chains.nanos(row), row)
                found.setdefault(self._chains.group(row), []).append(place)
            except (DataError, UnsupportedFeature):  # no time, or a NULL: it never expires
                self.without.append(row)
        return {chain: sorted(places) for chain, places in found.items()}
