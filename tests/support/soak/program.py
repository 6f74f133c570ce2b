"""``./dev soak HOURS``: a soak on a real S3 server or a local disk. It ends with 1 at the first difference.

Ctrl-C and SIGTERM let it come to its last comparison now; a second one ends it at once. In both cases, and after a
crash, ``--folder`` goes on with it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import SystemRandom
from types import FrameType

from support.servers.recorded import recorded
from support.servers.storage import StorageServer, minio, versitygw
from support.soak.expected import Different
from support.soak.place import LOCAL, Place
from support.soak.soak import Soak
from support.soak.totals import Totals

_SERVERS = {"versitygw": versitygw, "minio": minio}
STORAGES = (*_SERVERS, LOCAL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program. Returns: its exit status."""
    given = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="paimon-soak-")) if given.folder is None else given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    earlier = Place.load(folder) if Place.is_in(folder) else None
    refusal = _refusal(folder, earlier)
    if refusal:
        print(f"soak: {refusal}", file=sys.stderr)
        return 2
    storage = given.storage if earlier is None else earlier.storage
    with _storage(storage, folder, given.throttle) as server:
        place = replace(earlier, options=server.options) if earlier else _new_place(given, folder, server)
        soak = Soak(place, given.hours * 3600, given.rest, given.kill, report=_report)
        at = f"after {soak.totals.seconds / 3600:.2f} hours" if earlier else "from the beginning"
        _report(f"seed {place.seed}, {given.hours:g} hours on {storage} {at}, in {folder}")
        return _run(soak, again=f"./dev soak {given.hours:g} {_options(given, place)}")


def _run(soak: Soak, again: str) -> int:
    folder = soak.place.folder
    _end_on_signals(soak)
    try:
        soak.run()
    except KeyboardInterrupt:
        _report(f"ended before its last comparison; ./dev soak HOURS --folder {folder} goes on with it")
        return 1
    except Different as error:
        soak.totals.finding = str(error)
    except Exception:  # the product failed where it must not
        soak.totals.finding = traceback.format_exc()
    soak.totals.save()
    print(soak.table())
    if soak.totals.finding:
        _report(f"a difference: {soak.totals.finding}")
        _report(f"everything is kept in {folder}; the same choices: {again}")
        return 1
    _report("no difference")
    return 0


def _end_on_signals(soak: Soak) -> None:
    """The first signal lets a run come to its last comparison, the second one ends it."""

    def end(number: int, frame: FrameType | None) -> None:
        if soak.is_ending:
            raise KeyboardInterrupt
        soak.is_ending = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _refusal(folder: Path, earlier: Place | None) -> str:
    """Why no soak can run in a folder; "": one can."""
    if earlier is None:
        return f"{folder} is not empty, and no soak has begun in it" if any(folder.iterdir()) else ""
    return f"the soak in {folder} has found a difference, which is kept there" if Totals.load(folder).finding else ""


def _new_place(given: argparse.Namespace, folder: Path, server: StorageServer) -> Place:
    seed = SystemRandom().randrange(10**9) if given.seed is None else given.seed
    java = None if given.no_java else given.writers
    owners = given.writers + (java is not None)
    return Place(folder, f"{server.root}/soak", server.options, given.storage, seed, owners, java)


def _options(given: argparse.Namespace, place: Place) -> str:
    writers = place.owners - (place.java is not None)
    options = (
        f"--seed {place.seed} --storage {place.storage} --writers {writers} --rest {given.rest:g} --kill {given.kill:g}"
    )
    return options + f" --throttle {given.throttle}" + (" --no-java" if place.java is None else "")


def _report(line: str) -> None:
    print(f"soak: {line}", flush=True)


@contextmanager
def _storage(name: str, folder: Path, throttle: int) -> Iterator[StorageServer]:
    if name == LOCAL:
        yield StorageServer(LOCAL, str(folder / "data"), {})
        return
    with _SERVERS[name](folder / "server") as server:
        if not throttle:
            yield server
            return
        with recorded(server, throttled=throttle) as recorder:
            yield recorder.server


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev soak", description=(__doc__ or "").replace("``", ""))
    parser.add_argument("hours", type=float, help="how long; a fraction will do, 0 only compares")
    parser.add_argument("--storage", choices=STORAGES, default=STORAGES[0], help="where the tables lie")
    parser.add_argument("--seed", type=int, help="of all choices of the processes; else one is drawn")
    parser.add_argument(
        "--folder",
        type=Path,
        help="for journals, logs and data: an empty one, or that of a soak, which goes on; else a new one",
    )
    parser.add_argument("--writers", type=int, default=2, help="how many processes write rows, beside Java")
    parser.add_argument("--rest", type=float, default=180.0, help="seconds between two comparisons of all tables")
    parser.add_argument("--kill", type=float, default=15.0, help="most seconds between two kills; 0: nobody is killed")
    parser.add_argument("--throttle", type=int, default=0, help="each so many requests one is answered with 503 or 429")
    parser.add_argument("--no-java", action="store_true", help="without the genuine Java")
    return parser


if __name__ == "__main__":
    sys.exit(main())
