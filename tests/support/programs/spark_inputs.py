"""Spark's own SQL test inputs and the rows of its test tables, from the test sources of a release of Spark."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interop.genuine_jars import IVY_SETTINGS, spark_jars

RELEASE = "4.1.0"
"""The release whose test sources are published as a jar and are closest to the PySpark that is tested."""
INPUTS = "sql-tests/inputs"
TEST_DATA = "test-data/postgresql"
_DOWNLOAD_SECONDS = 600
_IVY = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="paimon_spark" module="spark-inputs"/>
  <dependencies>
    <dependency org="org.apache.spark" name="spark-sql_2.13" rev="{release}" transitive="false">
      <artifact name="spark-sql_2.13" type="jar" ext="jar" m:classifier="test-sources"/>
    </dependency>
  </dependencies>
</ivy-module>"""
_DELIMITER_START, _DELIMITER_END = "--QUERY-DELIMITER-START", "--QUERY-DELIMITER-END"


@dataclass(frozen=True)
class Input:
    """One file of statements.

    Attributes:
        name: its path below the folder of all inputs.
        settings: of the session, which the file asks for. Of several variants the first one.
        statements: in their order.
    """

    name: str
    settings: tuple[tuple[str, str], ...]
    statements: tuple[str, ...]


def fetch(folder: Path, release: str = RELEASE) -> Path:
    """Downloads the test sources into a folder, once, and returns the directory of the inputs and of the test data.

    A folder that holds ``sql-tests/inputs`` already is taken as it is, such as ``sql/core/src/test/resources`` of
    Spark's source archive.

    Raises:
        CalledProcessError: the jar cannot be downloaded.
    """
    if (folder / INPUTS).is_dir():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / "download"
    scratch.mkdir(exist_ok=True)
    (scratch / "settings.xml").write_text(IVY_SETTINGS)
    (scratch / "ivy.xml").write_text(_IVY.format(release=release))
    java = shutil.which("java") or "java"
    command = [java, "-cp", spark_jars("ivy")[0], "org.apache.ivy.Main", "-warn"]
    command += ["-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
    command += ["-cache", str(scratch / "cache"), "-retrieve", str(scratch / "[artifact]-[revision].[ext]")]
    subprocess.run(command, check=True, timeout=_DOWNLOAD_SECONDS)
    with zipfile.ZipFile(next(scratch.glob("*.jar"))) as jar:
        jar.extractall(folder, [name for name in jar.namelist() if name.startswith((INPUTS, TEST_DATA))])
    shutil.rmtree(scratch)
    return folder


def read_input(resources: Path, name: str) -> Input:
    """A file with its directives heeded (Spark: SQLQueryTestSuite), and those of the files that it imports."""
    lines = (resources / INPUTS / name).read_text("utf-8").splitlines()
    imported = [line.split(maxsplit=1)[1].strip() for line in lines if line.startswith("--IMPORT ")]
    before = [read_input(resources, other) for other in imported]
    settings = [pair for other in before for pair in other.settings]
    dimensions: dict[str, str] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "--SET":
            settings += _pairs(rest)
        elif word.startswith("--CONFIG_DIM"):
            dimensions.setdefault(word, rest)
    settings += [pair for rest in dimensions.values() for pair in _pairs(rest)]
    statements = [text for other in before for text in other.statements] + list(_statements(lines))
    return Input(name, tuple(settings), tuple(statements))


def _pairs(text: str) -> list[tuple[str, str]]:
    """``a=1,b=2``; a comma may stand in a value, and then no name with points and = follows it."""
    found = re.split(r",\s*(?=[\w.]+\s*=)", text.strip())
    return [(key.strip(), value.strip()) for key, _, value in (pair.partition("=") for pair in found)]


def _statements(lines: list[str]) -> Iterator[str]:
    """Semicolons end statements; between the two comments on delimiters, those at the end of a line do not."""
    inside, kept = False, list[str]()
    for line in lines:
        if line.startswith((_DELIMITER_START, _DELIMITER_END)):
            yield from _split(kept, whole=inside)
            inside, kept = line.startswith(_DELIMITER_START), []
        elif not line.startswith("--"):
            kept.append(line)
    yield from _split(kept, whole=inside)


def _split(lines: list[str], whole: bool) -> Iterator[str]:
    text = "\n".join(lines)
    for part in [text] if whole else re.split(r"(?<=[^\\]);", text):
        statement = part.replace("\\;", ";").strip().rstrip(";")
        if statement:
            yield statement
