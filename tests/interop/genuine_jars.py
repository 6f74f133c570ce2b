"""Where the jars of the genuine Java Paimon come from: a cache directory, else PySpark's own Ivy, else Maven.

``PAIMON_JAVA_JARS`` moves the cache, ``PAIMON_JAVA_IVY`` names an Ivy settings file of one's own (mirrors, proxies).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyspark

COORDINATES = {
    "2.0.0": "org.apache.paimon:paimon-flink-2.0:2.0.0",
    "1.4.2": "org.apache.paimon:paimon-bundle:1.4.2",
}
# Fat jars both, and usepoms must be off: the parent pom of the first one was never published.
IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>"""
TELLING = ("not found", "ERROR")
RESOLVE_SECONDS = 300


class JavaUnavailable(Exception):
    """No Java, or no jar to be had here; the text is the reason to skip."""


def spark_jars(*names: str) -> list[str]:
    """Jars that PySpark ships."""
    folder = Path(pyspark.__file__).parent / "jars"
    return [str(jar) for name in names for jar in sorted(folder.glob(f"{name}-[0-9]*.jar"))]


def paimon_jar(version: str) -> Path:
    """The jar of one Paimon release; see java_jar."""
    return java_jar(COORDINATES[version])


def java_jar(coordinate: str) -> Path:
    """The jar of a coordinate, without what it depends on, resolved at the first call on a machine.

    Raises:
        JavaUnavailable: it cannot be resolved; names what was tried and the first telling line of each try.
    """
    _, artifact, version = coordinate.split(":")
    cache = Path(os.environ.get("PAIMON_JAVA_JARS") or Path.home() / ".cache" / "paimon-spark-jars")
    jar = cache / f"{artifact}-{version}.jar"
    if jar.exists():
        return jar
    cache.mkdir(parents=True, exist_ok=True)
    failures = []
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        for command in _commands(coordinate, Path(scratch)):
            failure = _run(command)
            found = Path(scratch) / jar.name
            if found.exists():
                found.replace(jar)  # atomic: test processes may race
                return jar
            failures.append(failure)
    raise JavaUnavailable(f"{coordinate} cannot be resolved: " + ("; ".join(failures) or "neither java nor mvn found"))


def maven_jar(coordinate: str) -> Path:
    """The jar of a coordinate ``group:artifact:version:jar:classifier``, which only Maven resolves.

    Raises:
        JavaUnavailable: it cannot be resolved.
    """
    _, artifact, version, _, classifier = coordinate.split(":")
    cache = Path(os.environ.get("PAIMON_JAVA_JARS") or Path.home() / ".cache" / "paimon-spark-jars")
    jar = cache / f"{artifact}-{version}-{classifier}.jar"
    if jar.exists():
        return jar
    maven = shutil.which("mvn")
    if maven is None:
        raise JavaUnavailable(f"{coordinate} cannot be resolved: mvn not found")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        failure = _run(
            [maven, "-q", "-B", "dependency:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={scratch}"]
        )
        found = Path(scratch) / jar.name
        if not found.exists():
            raise JavaUnavailable(f"{coordinate} cannot be resolved: {failure}")
        found.replace(jar)
    return jar


def _commands(coordinate: str, scratch: Path) -> Iterator[list[str]]:
    group, artifact, version = coordinate.split(":")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java and (ivy := spark_jars("ivy")):
        settings = scratch / "ivysettings.xml"
        settings.write_text(IVY_SETTINGS)
        yield [
            *(java, "-cp", ivy[0], "org.apache.ivy.Main", "-warn"),
            *("-settings", os.environ.get("PAIMON_JAVA_IVY", str(settings)), "-cache", str(scratch / "ivy")),
            *("-notransitive", "-confs", "default", "-dependency", group, artifact, version),
            *("-retrieve", str(scratch / "[artifact]-[revision].[ext]")),
        ]
    if maven := shutil.which("mvn"):
        yield [maven, "-q", "-B", "dependency:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={scratch}"]


def _run(command: list[str]) -> str:
    """Run the command; what it said when it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RESOLVE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    return next((line for line in lines if any(word in line for word in TELLING)), f"exit code {done.returncode}")
