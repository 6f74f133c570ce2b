"""Index files of pypaimon gone wrong at random: a search of them ends with rows, or with a named error.

``PAIMON_SEARCH_MUTANTS`` sets how many mutants of each file are tried; a number is a seed. They are searched in a
process of their own, since code that is not Python reads them: one that ends is a failure.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.long_runs import tries
from support.paths import GOLDEN

from paimon_spark import open_table
from paimon_spark.errors import PaimonError

pytest.importorskip("paimon_vindex")
pytest.importorskip("paimon_ftindex")

MUTANTS = tries("PAIMON_SEARCH_MUTANTS", ci=20, long=2000)
TABLES = ("ivf_flat", "ivf_pq", "ivf_sq", "ivf_rq", "diskann", "text_default")
NUMBERS = (0, 1, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)


def mutant(data: bytes, seed: int) -> bytes:
    random, found = Random(seed), bytearray(data)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(min(len(found), 200) if random.random() < 0.5 else len(found))
        match random.randrange(5):
            case 0:
                found[at] ^= 1 << random.randrange(8)
            case 1:
                size = random.choice([4, 8])
                number = random.choice(NUMBERS) % (1 << 8 * size)
                found[at : at + size] = number.to_bytes(size, random.choice(["little", "big"]))
            case 2:
                del found[at:]
            case 3:
                del found[at : at + random.randint(1, 20)]
            case _:
                found[at:at] = random.randbytes(random.randint(1, 9))
        if not found:
            break
    return bytes(found)


def search(path: str) -> Any:
    scan = open_table(path).scan(["id"])
    if "text" in path:
        return scan.full_text_search("s", '{"match": {"query": "lake fish"}}', 50)
    return scan.vector_search("e", [0.5, 0.0, -1.0, 0.25], 50)


def search_mutants(path: str, told: Any) -> None:
    (first, *_) = sorted(Path(path, "index").iterdir())
    data = first.read_bytes()
    for seed in range(MUTANTS):
        first.write_bytes(mutant(data, seed))
        told.put(seed)
        try:
            found = search(path)
            assert len(set(found["id"].to_pylist())) == found.num_rows <= 60
        except PaimonError:
            pass
        except BaseException as error:
            told.put(f"{seed}: {type(error).__name__}: {error}")
    told.put(None)


def said(worker: Any, told: Any) -> Iterator[Any]:
    while True:
        yield told.get(timeout=120) if worker.is_alive() or not told.empty() else "the process has ended"


@pytest.mark.parametrize("name", TABLES)
def test_only_named_errors(tmp_path: Path, name: str) -> None:
    with tarfile.open(GOLDEN / "searches" / "pypaimon-2.0.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    kept = tmp_path / "kept"
    shutil.move(tmp_path / name, kept / name)
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    worker = context.Process(target=search_mutants, args=(str(kept / name), told))
    worker.start()
    last, wrong = None, []
    for word in said(worker, told):
        if word is None:
            break
        if isinstance(word, int):
            last = word
            continue
        wrong.append(f"{word} (the last mutant: {last})")
        if word == "the process has ended":
            break
    worker.join()
    assert not wrong
    assert worker.exitcode == 0
