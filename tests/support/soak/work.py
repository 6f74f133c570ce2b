"""One process of a soak: ``python -m support.soak.work NAME FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from support.soak.copier import Copier
from support.soak.keeper import Keeper
from support.soak.place import Place
from support.soak.process import Process, run_process
from support.soak.reader import Reader
from support.soak.writer import Writer


def process_of(place: Place, name: str) -> Process:
    """The process of a name."""
    if name == "keeper":
        return Keeper(place, name)
    if name == "reader":
        return Reader(place, name)
    if name == "copier":
        return Copier(place, name)
    return Writer(place, int(name.removeprefix("writer")))


if __name__ == "__main__":
    sys.exit(run_process(process_of(Place.load(Path(sys.argv[2])), sys.argv[1])))
