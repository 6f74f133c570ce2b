"""The texts of TPC-H and TPC-DS, and small data for them, from the source distribution of sqlglot."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path


def fetch(folder: Path) -> Path:
    """Downloads the distribution into a folder, once, and returns the directory that has ``tpc-h`` and ``tpc-ds``."""
    found = list(folder.glob("sqlglot-*/tests/fixtures/optimizer"))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder), "sqlglot"], check=True)
        with tarfile.open(next(folder.glob("sqlglot-*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        found = list(folder.glob("sqlglot-*/tests/fixtures/optimizer"))
    return found[0]


def texts(fixtures: Path, name: str) -> list[str]:
    """The queries of ``tpc-h`` or ``tpc-ds`` in their order: the file has each one, then an optimized form of it."""
    lines = (fixtures / name / f"{name}.sql").read_text("utf-8").splitlines()
    plain = "\n".join(line for line in lines if not line.startswith(("--", "#")))
    found = [text.strip() for text in plain.split(";")]
    return [text for text in found[::2] if text]
