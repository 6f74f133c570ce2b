"""Where PySpark is not installed: everything but Spark works, and what needs it says what to install.

``./dev matrix`` does the same in an environment that really has none.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from support.paths import ROOT

GUIDE = ROOT / "docs/guides/python-without-spark.md"


def test_everything_but_spark_works_without_it(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "support.programs.without_pyspark", str(tmp_path)]
    done = subprocess.run(program, cwd=ROOT / "tests", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, sql, table, catalog, register, register_catalog, end = done.stdout.splitlines()
    assert (sql, end) == ("sql ends with 2", "done")
    assert "needs PySpark, which is not installed: run pip install pyspark" in " ".join(done.stderr.split())
    for line, name in zip(
        (table, catalog, register, register_catalog),
        ("PaimonTable", "catalog", "register", "register_catalog"),
        strict=True,
    ):
        assert line.startswith(f"paimon_spark.{name} needs PySpark, which is not installed: pip install pyspark; ")


def test_the_guide_installs_all_but_spark_and_its_shell() -> None:
    """No list of another place: what a release needs grows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=]", text)[0] for text in project["dependencies"]}
    block = GUIDE.read_text().partition("## Without PySpark")[2].partition("```bash\n")[2].partition("```")[0]
    _, second = block.replace("\\\n", " ").strip().splitlines()
    installed = {re.split(r"[<>=]", text.strip('"'))[0] for text in second.removeprefix("pip install ").split()}
    assert installed == needed - {"pyspark", "prompt_toolkit"}
