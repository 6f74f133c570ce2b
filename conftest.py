"""Fixtures and rules shared by all tests.

``PAIMON_CI=1`` turns the skip of a test marked ``interop`` or ``server`` into a failure: a run that claims interop, or
real storage servers, must have had them. Tests with the fixture ``spark`` share two workers of pytest-xdist, those of
one file the same, tests marked ``interop`` a third, and those marked ``server`` one, so that each JVM and each server
starts once: a single session would leave a core idle while it waits. Of the other tests, those of one file share a
worker, so that the fixtures of a file are made once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession
from support.long_runs import SEED, examples, run_seed
from support.programs.hive_metastore import HiveMetastore, NoMetastore, drop_all, hive_metastore
from support.shares import begin_run, left_out

from paimon_spark.arguments.checks import SETTING as TRACEBACK

# How long an example takes says more of the machine and its other work than of the code.
settings.register_profile(
    "shared", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")

ROOT = Path(__file__).parent
# A JVM of a test lives too briefly to win back what its second compiler costs: half of its processor time.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ.setdefault("SPARK_CONF_DIR", str(ROOT / "tests" / "support" / "spark_conf"))
os.environ.setdefault(TRACEBACK, "full")  # a test that fails shows where
IN_CI = os.environ.get("PAIMON_CI") == "1"
QUICK_PLANS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.paimon.read.local": "true",
}


@pytest.hookimpl(tryfirst=True)  # hypothesis reads its option in the same hook
def pytest_configure(config: pytest.Config) -> None:
    """Makes a run one that can be repeated: all that it draws comes from one seed.

    A shell has its background jobs ignore Ctrl-C; the programs that tests start, and interrupt, would too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = run_seed()
    begin_run(config)


def pytest_report_header() -> str:
    return f"{SEED}={run_seed()} draws the tests and the examples of this run"


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = set(left_out(items))
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=list(left))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group_of_worker(item)))


def _group_of_worker(item: pytest.Item) -> str:
    """A test that is marked ``spark`` without the fixture starts programs with sessions of their own."""
    names = getattr(item, "fixturenames", ())
    if item.get_closest_marker("interop") or "interop" in names:
        return "interop"
    if item.get_closest_marker("server"):
        return "server"
    path = item.path.relative_to(ROOT).as_posix()
    return f"spark-{zlib.crc32(path.encode()) % 2}" if "spark" in names else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Without groups each worker would start a JVM of each kind: the run would be slow, and nobody would know why."""
    if node.config.getoption("dist") == "loadgroup" and ids and "@" not in ids[0]:
        raise pytest.UsageError(
            "pytest-xdist does not see the groups of tests: use the release of pytest that pyproject.toml asks for"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        kinds = [kind for kind in ("interop", "server") if item.get_closest_marker(kind)]
        if kinds:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} was skipped, and PAIMON_CI=1 allows no skipped {kinds[0]} test: {report.longrepr}"
            )
    return report


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One classic local session with two cores, in UTC. Its workers import this checkout and its tests."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    paths = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    session = (
        SparkSession.builder.master("local[2]")
        .appName("paimon-spark-tests")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.paimon.read.local", "false")  # the tables of tests are small, and large ones are what they test
        .config("spark.paimon.write.local", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def quick_spark(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session for tests of a few rows in many statements: compiling a plan takes longer than running it.

    In one half of the tests the driver writes few rows itself, in the other half tasks of Spark do.
    """
    writes = {"spark.paimon.write.local": ("true", "false")[zlib.crc32(request.node.nodeid.encode()) % 2]}
    before = {key: spark.conf.get(key) for key in (*QUICK_PLANS, *writes)}
    for key, value in (QUICK_PLANS | writes).items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value or "")


@pytest.fixture
def unpadded(spark: SparkSession) -> Iterator[SparkSession]:
    """The session while it shows CHAR values as they are stored, as reads without Spark do."""
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    yield spark
    spark.conf.unset("spark.sql.readSideCharPadding")


@pytest.fixture(scope="session")
def metastore() -> Iterator[HiveMetastore]:
    """A Hive metastore."""
    try:
        with hive_metastore() as running:
            yield running
    except NoMetastore as reason:
        pytest.skip(str(reason))


@pytest.fixture
def hive_options(metastore: HiveMetastore, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The options of an empty catalog in it."""
    made = {"metastore": "hive", "uri": metastore.uri, "warehouse": str(tmp_path / "lake")}
    yield made
    drop_all(made)


@pytest.fixture
def local_zone() -> Iterator[Callable[[str], None]]:
    """Sets the local time zone for the rest of a test."""
    with pytest.MonkeyPatch.context() as patch:

        def move(zone: str) -> None:
            patch.setenv("TZ", zone)
            time.tzset()

        yield move
    time.tzset()


@pytest.fixture
def shanghai(local_zone: Callable[[str], None]) -> None:
    """A local time zone where no summer time confuses: UTC+8."""
    local_zone("Asia/Shanghai")
