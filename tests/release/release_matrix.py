"""``./dev matrix``: the wheel in empty environments, with every release of PySpark it is for, classic and Connect, and
without PySpark.

Each environment has the wheel and PySpark, nothing else; the job runs in a folder outside of the checkout and does not
register the data source: Spark has to find it. A release is made only after this passes; a run takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("release_job.py")
RELEASES = ("4.1", "4.2", "4.3")
SESSIONS = {"classic": {}, "connect": {"SPARK_REMOTE": "local[2]", "SPARK_TESTING": "1"}}  # 1: any free port


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """What a command prints. Raises RuntimeError with all its output if it fails."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))}
    env = {**inherited, "SPARK_LOCAL_IP": "127.0.0.1", **environment}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr[-6000:]}")
    return done.stdout.strip()


def wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    (found,) = folder.glob("*.whl")
    return found


def environment(folder: Path, release: str, package: Path) -> Path:
    """The Python of a new environment with the wheel and a release of PySpark."""
    home = folder / f"pyspark-{release}"
    run([sys.executable, "-m", "venv", str(home)], folder)
    python = home / "bin" / "python"
    run(
        [str(python), "-m", "pip", "install", "--quiet", f"{package}[connect]", f"pyspark[connect]~={release}.0"],
        folder,
    )
    return python


def without_pyspark(folder: Path, package: Path) -> str:
    """What the program without PySpark prints, in an environment made as the guide says."""
    home = folder / "without-pyspark"
    run([sys.executable, "-m", "venv", str(home)], folder)
    guide = (ROOT / "docs/guides/python-without-spark.md").read_text()
    block = guide.partition("## Without PySpark")[2].partition("```bash\n")[2].partition("```")[0]
    script = block.replace("--no-deps paimon-spark", f"--quiet --no-deps {package}")
    run(["bash", "-euc", script], folder, PATH=os.pathsep.join([str(home / "bin"), os.environ["PATH"]]))
    python = home / "bin" / "python"
    run([str(python), "-c", "import sys, importlib.util as u; sys.exit(u.find_spec('pyspark') is not None)"], folder)
    program = ROOT / "tests/support/programs/without_pyspark.py"
    return run([str(python), str(program), str(folder / "tables")], folder).splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev matrix", description=__doc__)
    parser.add_argument("releases", nargs="*", default=RELEASES, help=f"of PySpark; default: {' '.join(RELEASES)}")
    releases, failed, passed = parser.parse_args().releases, 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        package = wheel(folder)
        print(package.name, flush=True)
        try:
            print(without_pyspark(folder, package), "without PySpark", flush=True)
            passed += 1
        except RuntimeError as error:
            print(f"without PySpark: {error}", flush=True)
            failed += 1
        for release in releases:
            python = environment(folder, release, package)
            for name, settings in SESSIONS.items():
                elsewhere = folder / f"elsewhere-{release}-{name}"
                elsewhere.mkdir()
                try:
                    # Spark looks for data sources with the python3 of the PATH, as in an activated environment.
                    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
                    print(run([str(python), str(JOB)], elsewhere, PATH=path, **settings), name, flush=True)
                    passed += 1
                except RuntimeError as error:
                    print(f"PySpark {release} {name}: {error}", flush=True)
                    failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
