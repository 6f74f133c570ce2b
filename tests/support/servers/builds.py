"""Where the programs of storage servers come from: a cache folder, else a package registry, once on a machine.

``PAIMON_SERVERS`` moves the cache. Go, npm and Maven fetch what is not there, with the settings that each has on the
machine; a first build of a Go program takes some minutes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_BUILD_SECONDS = 1500
_LAST_LINES = 3

_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>server</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>"""
_DEPENDENCY = """<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
<exclusions>{exclusions}</exclusions></dependency>"""
_EXCLUSION = "<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>"


class ServerUnavailable(Exception):
    """A server cannot be had or started here; the text is the reason to skip."""


def go_program(module: str, version: str) -> Path:
    """The program that ``go install module@version`` makes.

    Raises:
        ServerUnavailable: it is not in the cache, and cannot be built here.
    """
    name = module.rpartition("/")[2]

    def build(folder: Path) -> None:
        environment = {"GOBIN": str(folder), "GOFLAGS": "-buildvcs=false -trimpath", "CGO_ENABLED": "0"}
        _run(["go", "install", "-ldflags=-s -w", f"{module}@{version}"], folder, environment)

    return _cached(f"{name}-{version}", build) / name


def is_built(module: str, version: str) -> bool:
    """True if the cache has the program, so that go_program builds nothing."""
    return (server_cache() / f"{module.rpartition('/')[2]}-{version}").is_dir()


def npm_script(package: str, version: str, script: str) -> Path:
    """A script of a package of npm, for Node.js; see go_program. script: its path within the package."""

    def build(folder: Path) -> None:
        _run(
            ["npm", "install", "--no-save", "--omit=optional", "--prefix", str(folder), f"{package}@{version}"], folder
        )

    return _cached(f"{package}-{version}", build) / "node_modules" / package / script


def maven_classpath(*coordinates: str, without: Sequence[str] = ()) -> str:
    """The jars of each ``group:artifact:version`` with all that they depend on, for ``java -cp``; see go_program.

    Args:
        coordinates: the first one names the folder in the cache.
        without: groups that they depend on, and that are left out with what they need.
    """
    _, artifact, version = coordinates[0].split(":")

    def build(folder: Path) -> None:
        exclusions = "".join(_EXCLUSION.format(group=left_out) for left_out in without)
        parts = [coordinate.split(":") for coordinate in coordinates]
        dependencies = [_DEPENDENCY.format(group=g, artifact=a, version=v, exclusions=exclusions) for g, a, v in parts]
        (folder / "pom.xml").write_text(_POM.format(dependencies="".join(dependencies)))
        copying = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}/lib")
        _run(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *copying], folder)

    return str(_cached(f"{artifact}-{version}", build) / "lib" / "*")


def maven_jar(coordinate: str) -> Path:
    """One jar of Maven, without what it depends on; see go_program. coordinate: ``group:artifact:version``."""
    _, artifact, version = coordinate.split(":")

    def build(folder: Path) -> None:
        _run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinate}", f"-DoutputDirectory={folder}"], folder)

    return _cached(f"{artifact}-{version}", build) / f"{artifact}-{version}.jar"


def server_cache() -> Path:
    """The cache folder. A test that moves HOME keeps it by ``PAIMON_SERVERS``, else all is built anew."""
    return Path(os.environ.get("PAIMON_SERVERS") or Path.home() / ".cache" / "paimon-spark-servers")


def _cached(name: str, build: Callable[[Path], None]) -> Path:
    """The folder of this name in the cache. One process builds it, others wait; it appears as a whole."""
    cache = server_cache()
    folder = cache / name
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f".{name}.lock"):
        if not folder.is_dir():
            scratch = cache / f".{name}.new"
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            build(scratch)
            scratch.rename(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Runs a command; its output goes into a file, because a program that it leaves behind would hold a pipe open."""
    output = folder / "build-output"
    try:
        with output.open("wb") as file:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                timeout=_BUILD_SECONDS,
                check=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        message = output.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:] if output.exists() else []
        raise ServerUnavailable(f"{' '.join(command)}: {error}: {' / '.join(message)}") from error
