"""Which share of the tests of a module a run of the whole suite tries, so that it ends in ten minutes on two cores.

Each seed draws others, and of a module with fewer tests than its share says it may draw none. The longest modules try
the same rule in many cases: each operation of the storage that fails, each golden table, each merge engine beside the
official system. A run by hand that names modules or tests runs all of them, and so does PAIMON_LONG=1.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.long_runs import LONG, run_seed

ROOT = Path(__file__).parents[1]
ROOMS = {
    **dict.fromkeys(("spark", "interop"), 16),
    **dict.fromkeys(("arrow", "catalogs", "cdc", "cli", "docs", "shell", "store"), 6),
}
"""One of how many tests is run of each module in a folder of tests; of other folders all are."""
SHARES = {
    4: ("test_packaging.py",),
    6: (
        "arrow/predicates/test_predicate_against_spark.py",
        "cli/test_program.py",
        "procedures/call/test_calls.py",
        "shell/test_sql_command.py",
        "store/checks/test_check_damage.py",
        "store/clean/test_orphans.py",
        "store/clean/test_partition_expiry.py",
        "store/clean/test_purge.py",
        "store/compact/test_compact_bucket.py",
        "store/rescale/test_postpone.py",
    ),
    8: (
        "docs/test_docs_snippets.py",
        "hostile/test_bombs.py",
        "hostile/test_mutants.py",
        "store/clean/test_lost_files.py",
        "store/commit/test_concurrent_commits.py",
        "store/compact/test_compaction_faults.py",
        "store/expire/test_expire_faults.py",
        "store/history/test_rollback_races.py",
        "store/history/test_version_kill_points.py",
        "store/metadata/test_commit_changes.py",
        "store/metadata/test_storage_errors.py",
        "store/scan/test_golden_conditions.py",
        "store/scan/test_scan_faults.py",
        "store/stream_sink/test_stream_faults.py",
        "store/stream_source/test_stream_histories.py",
        "store/upkeep/test_copy_faults.py",
        "store/write/test_faults.py",
        "test_golden_compaction.py",
        "test_golden_spark.py",
    ),
    10: (
        "interop/test_system_tables_like_java.py",
        "spark/copy/test_copy_like_java.py",
        "store/clean/test_orphans_faults.py",
        "store/compact/test_failed_writers.py",
    ),
}
"""The longest modules, of which fewer tests are run than of others in their folder."""
SERVER_SHARE = 6
"""One of how many tests with real storage servers is run of each module, whatever its folder."""
_SERVER = "::server"
ONE_OF = (
    (
        "spark/adapters/test_spark_sessions.py::test_spark_connect",
        "spark/native/test_native_on_connect.py::test_native_reads_on_connect",
        "spark/native/test_recorded_frames.py::test_the_same_on_connect",
        "spark/rows/test_rows_on_connect.py::test_rows_on_connect",
        "spark/stream_sink/test_streams_on_connect.py::test_streams_on_connect",
        "spark/stream_source/test_changes_on_connect.py::test_changes_on_connect",
    ),
    (
        "catalogs/test_catalog_processes.py::test_a_killed_holder_of_a_lock_of_hive",
        "shell/test_sql_command.py::test_the_program_itself",
        "spark/adapters/test_spark_sessions.py::test_spark_submit_with_py_files_to_a_cluster_of_two_workers",
        "spark/catalog/test_secrets_of_catalogs.py::test_no_catalog_shows_a_secret",
        "spark/catalog/test_secrets_of_catalogs.py::test_what_processes_of_spark_are_sent",
        "spark/spark_catalog/test_registration.py::test_a_catalog_is_registered_again_after_a_stop",
        "spark/write/test_async_expiry.py::test_a_job_that_ends_at_once",
    ),
)
"""Tests of which a run tries one of each group: each starts a server of Spark Connect or a session of its own, which
takes most of its time."""
_ALONE = frozenset(name for group in ONE_OF for name in group)
_OF_RUN = "PAIMON_SHARES"


def _needs_server(item: pytest.Item) -> bool:
    return item.get_closest_marker("server") is not None


def begin_run(config: pytest.Config) -> None:
    """Called in the first process of a run, before it starts its workers, which inherit the environment."""
    narrowed = config.option.keyword or config.option.markexpr
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed and not LONG:
        os.environ[_OF_RUN] = "1"


def some_of(values: Sequence[str], count: int) -> Sequence[str]:
    """So many of the values in a run of the whole suite, other ones for each seed; else all."""
    return random.Random(run_seed()).sample(values, count) if os.environ.get(_OF_RUN) == "1" else values


def left_out(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that this run does not try; the same in all its workers."""
    if os.environ.get(_OF_RUN) != "1":
        return []
    by_module: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.path.is_relative_to(ROOT):
            module = item.path.relative_to(ROOT).as_posix()
            name = f"{module}::{item.name.partition('[')[0]}"
            by_module[name if name in _ALONE else module + _SERVER * _needs_server(item)].append(item)
    found: list[pytest.Item] = []
    for group in ONE_OF:
        dice = random.Random(f"{run_seed()} {group[0]}")
        chosen = dice.choice(group)
        of_group = {name: by_module.pop(name, []) for name in group}
        kept = dice.sample(of_group[chosen], min(len(of_group[chosen]), 1))
        found += [item for items_of_name in of_group.values() for item in items_of_name if item not in kept]
    shares = {module: share for share, modules in SHARES.items() for module in modules}
    for module, tests in by_module.items():
        share = max(shares.get(module, 1), ROOMS.get(module.partition("/")[0], 1))
        share = max(share, SERVER_SHARE if module.endswith(_SERVER) else 1)
        dice = random.Random(f"{run_seed()} {module}")
        tried, rest = divmod(len(tests), share)
        tried += dice.randrange(share) < rest
        found += dice.sample(tests, len(tests) - tried)
    return found
