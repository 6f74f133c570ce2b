"""Runs the program ``paimon-spark``: here for what it prints, as a process for signals and pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from typer.testing import CliRunner

from paimon_spark.cli.program import app
from support.paths import ROOT

PROGRAM = [sys.executable, "-m", "paimon_spark"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@dataclass(frozen=True)
class Printed:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Stdout, which is one document of JSON."""
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """Stdout, which is one document a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def cells(self) -> list[list[str]]:
        """The rows of a table, without its head, cell by cell; cells hold no two blanks."""
        lines = self.out.splitlines()[2:]
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def command(*arguments: str | Path, answer: str | None = None, columns: int | None = 200) -> Printed:
    """Runs a command in this process. answer: to its question; columns: of the terminal; None: there is none."""
    result = CliRunner().invoke(
        app, [str(a) for a in arguments], input=answer, env={"COLUMNS": None if columns is None else str(columns)}
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Printed(result.exit_code, result.stdout, result.stderr)


def on_a_terminal(*arguments: str | Path, answer: str | None = None) -> Printed:
    """Runs the program with a terminal as its stderr, where it draws bars."""
    ours, theirs = os.openpty()
    with ThreadPoolExecutor(1) as pool, os.fdopen(ours, "rb", 0) as screen:
        child = program(*arguments, stdin=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        shown = pool.submit(_all_of, screen)
        out, _ = child.communicate(answer, timeout=60)
        return Printed(child.returncode, out, shown.result(60).decode())


def _all_of(screen: IO[bytes]) -> bytes:
    found = b""
    with suppress(OSError):  # Linux: nobody has the other end any more
        while data := screen.read(4096):
            found += data
    return found


def program(*arguments: str | Path, **settings: Any) -> subprocess.Popen[str]:
    """Starts the program."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], **{**pipes, **settings})
