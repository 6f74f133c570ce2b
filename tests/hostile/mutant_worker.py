"""A process that lives through mutants and tells of each on its standard output, so that one that kills it has a name.

``python mutant_worker.py FOLDER FIRST COUNT SECONDS BYTES KIND``: mutants FIRST to FIRST + COUNT - 1 in a folder of
their own; one may take so many seconds, and the process so much address space. Lines: ``> seed`` before, a JSON object
after, and at the end the peak of the memory that was really used, in KiB. KIND: metadata or data, what is wrong.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import resource
import sys
from dataclasses import asdict
from pathlib import Path

from data_life import DataNursery
from mutant_life import Nursery

NURSERIES = {"metadata": Nursery, "data": DataNursery}


def main(folder: str, first: int, count: int, seconds: float, most_bytes: int, kind: str) -> None:
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    faulthandler.enable()
    nursery = NURSERIES[kind](Path(folder))
    for seed in range(first, first + count):
        print(f"> {seed}", flush=True)
        faulthandler.dump_traceback_later(seconds, exit=True)
        outcome = nursery.live(seed)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(asdict(outcome)), flush=True)
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
