"""``./dev soak HOURS``: a soak on a real S3 server or a local disk. It ends with 1 at the first difference."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom

from support.servers.recorded import recorded
from support.servers.storage import StorageServer, versitygw
from support.soak.expected import Different
from support.soak.place import Place
from support.soak.soak import Soak

_STORAGES = ("versitygw", "local")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program. Returns: its exit status."""
    given = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="paimon-soak-")) if given.folder is None else given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"soak: {folder} is not empty", file=sys.stderr)
        return 2
    seed = SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"soak: seed {seed}, {given.hours:g} hours on {given.storage}, in {folder}", flush=True)
    with _storage(given.storage, folder, given.throttle) as server:
        java = None if given.no_java else given.writers
        owners = given.writers + (java is not None)
        place = Place(folder, f"{server.root}/soak", server.options, seed, owners, java, given.storage == "local")
        soak = Soak(place, given.hours * 3600, given.rest, given.kill, report=_report)
        finding = ""
        try:
            soak.run()
        except Different as error:
            finding = str(error)
        except (Exception, KeyboardInterrupt):  # the product failed where it must not, or somebody has ended the run
            finding = traceback.format_exc()
        soak.save_summary(finding)
        print(soak.table())
    if finding:
        options = f"--storage {given.storage} --writers {given.writers} --rest {given.rest:g} --kill {given.kill:g}"
        options += f" --throttle {given.throttle}" + (" --no-java" if given.no_java else "")
        again = f"./dev soak {given.hours:g} --seed {seed} {options}"
        print(f"soak: a difference: {finding}\nsoak: everything is kept in {folder}; the same choices: {again}")
        return 1
    print("soak: no difference")
    return 0


def _report(line: str) -> None:
    print(f"soak: {line}", flush=True)


@contextmanager
def _storage(name: str, folder: Path, throttle: int) -> Iterator[StorageServer]:
    if name == "local":
        yield StorageServer("local", str(folder / "data"), {})
        return
    with versitygw(folder / "server") as server:
        if not throttle:
            yield server
            return
        with recorded(server, throttled=throttle) as recorder:
            yield recorder.server


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev soak", description=(__doc__ or "").replace("``", ""))
    parser.add_argument("hours", type=float, help="how long; a fraction will do")
    parser.add_argument("--storage", choices=_STORAGES, default=_STORAGES[0], help="where the tables lie")
    parser.add_argument("--seed", type=int, help="of all choices of the processes; else one is drawn")
    parser.add_argument("--folder", type=Path, help="an empty one, for journals, logs and data; else a new one")
    parser.add_argument("--writers", type=int, default=2, help="how many processes write rows, beside Java")
    parser.add_argument("--rest", type=float, default=180.0, help="seconds between two comparisons of all tables")
    parser.add_argument("--kill", type=float, default=15.0, help="most seconds between two kills; 0: nobody is killed")
    parser.add_argument("--throttle", type=int, default=0, help="each so many requests one is answered with 503 or 429")
    parser.add_argument("--no-java", action="store_true", help="without the genuine Java")
    return parser


if __name__ == "__main__":
    sys.exit(main())
