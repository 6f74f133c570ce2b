"""A table follows a database through a real broker of Kafka, with Spark's own connector (PAIMON_LONG=1)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from support.long_runs import LONG
from support.paths import ROOT

pytestmark = pytest.mark.skipif(not LONG, reason="starts a broker: PAIMON_LONG=1")

SETTINGS = """<ivysettings><settings defaultResolver="central"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>"""
SERVER = ("org.apache.kafka", "kafka_2.13", "3.9.0")
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13")
LAST_CONNECTOR = "4.1.1"  # the last that the registry has
BROKER = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
num.partitions=2
"""


def jars(folder: Path, *coordinate: str) -> list[Path]:
    """The jars of a coordinate and all that it needs; none if the registry does not have it."""
    settings = folder / "ivysettings.xml"
    settings.write_text(SETTINGS)
    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-[0-9]*.jar")
    found = folder / "-".join(coordinate)
    subprocess.run(
        [
            *("java", "-cp", str(ivy), "org.apache.ivy.Main", "-warn", "-settings", str(settings)),
            *("-cache", str(folder / "ivy"), "-confs", "default", "-dependency", *coordinate),
            *("-retrieve", f"{found}/[artifact]-[revision].[ext]"),
        ],
        capture_output=True,
        timeout=600,
        check=False,
    )
    return sorted(found.glob("*.jar"))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("java") is None:
        pytest.skip("there is no java")
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[str]:
    """The address of a broker of one node."""
    classes = jars(folder, *SERVER)
    if not classes:
        pytest.skip(f"{':'.join(SERVER)} cannot be resolved")
    port, settings = free_port(), folder / "server.properties"
    settings.write_text(BROKER.format(port=port, controller=free_port(), folder=folder))
    java = ["java", "-Xmx384m", "-cp", ":".join(map(str, classes))]
    identity = "MkU3OEVBNTcwNTJENDM2Qk"
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)], check=True)
    with (
        (folder / "server.out").open("wb") as told,
        subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=told, stderr=told) as server,
    ):
        yield f"127.0.0.1:{port}"  # whoever writes first waits for it: the producer asks until it answers
        server.kill()


def test_a_table_follows_a_topic(folder: Path, broker: str) -> None:
    """As a stream where the registry has the connector of this Spark, else in one batch by the last that it has."""
    mine = jars(folder, *CONNECTOR, pyspark.__version__)
    mode = "stream" if mine else "batch"
    needed = ("kafka", "commons-pool2")
    chosen = [
        str(jar) for jar in mine or jars(folder, *CONNECTOR, LAST_CONNECTOR) if any(n in jar.name for n in needed)
    ]
    if not chosen:
        pytest.skip("no connector of Spark for Kafka can be resolved")
    program = ROOT / "tests/support/programs/kafka_sync.py"
    arguments = [broker, ",".join(chosen), str(folder / mode), mode]
    (folder / mode).mkdir()
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True, text=True, timeout=500, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert done.stdout.strip().endswith("equal"), done.stdout + done.stderr[-3000:]
