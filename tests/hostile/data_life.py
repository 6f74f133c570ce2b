"""What is done with a table of which a data file, or a manifest of row ids, is wrong: it is read and checked."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from data_tables import TABLES
from mutant_life import Outcome, first_rows, short_text
from mutations import change_bytes, fit_sizes
from support.faults.damage import change_entries

from paimon_spark.errors import PaimonError
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.store.checks.table import check
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.blobs import open_blob
from paimon_spark.tables.open import open_table


class DataNursery:
    """Makes each table once, and a fresh mutant of one for each seed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, list[str]] = {}

    def live(self, seed: int) -> Outcome:
        chance = random.Random(seed)
        kind = chance.choice(sorted(TABLES))
        source = self._folder / "good" / kind
        if kind not in self._rows:
            TABLES[kind](source)
            self._rows[kind] = _rows(open_table(str(source)))
        table = self._folder / "mutant"
        shutil.rmtree(table, ignore_errors=True)
        shutil.copytree(source, table)
        what = f"{kind}: {_mutate(table, chance, kind)}"
        results: dict[str, str] = {}
        wrong: list[str] = []
        for name, action in ACTIONS.items():
            try:
                results[name] = action(open_table(str(table)), self._rows[kind])
            except PaimonError as error:
                results[name] = type(error).__name__
            except BaseException as error:
                results[name] = f"!{type(error).__name__}"
                wrong.append(f"{name}: {short_text(error)}")
        return Outcome(seed, what, results, tuple(wrong))


def _mutate(table: Path, chance: random.Random, kind: str) -> str:
    data_files = [path for path in table.rglob("data-*") if path.is_file()]
    manifests = [path for path in (table / "manifest").iterdir() if path.is_file()]
    of_manifest = kind == "new row ids" and chance.random() < 0.7
    path = chance.choice(sorted(manifests if of_manifest else data_files))
    data = bytearray(path.read_bytes())
    did = change_bytes(data, table, chance)
    path.write_bytes(data)
    if chance.random() < 0.8:
        did += ", sizes fit"
        fit_sizes(table, path)
        if not of_manifest:
            change_entries(table, partial(_sized, path.name, len(data)))
    return f"{path.relative_to(table)}: {did}"


def _sized(name: str, size: int, entry: ManifestEntry) -> list[ManifestEntry]:
    is_it = entry.file.file_name == name
    return [entry._replace(file=entry.file._replace(file_size=size)) if is_it else entry]


def _rows(table: Table) -> list[str]:
    return first_rows(table.scan().to_batches())


def _read(table: Table, good: list[str]) -> str:
    found = _rows(table)
    return "rows" if found == good else f"other rows of {_format(table)}"


def _format(table: Table) -> str:
    return table.settings.files.vector_format or table.settings.files.format


def _narrow(table: Table, good: list[str]) -> str:
    names = [field.name for field in table.schema.fields]
    first_rows(table.scan(names[1:], "k > 20").to_batches())
    return f"{table.scan(names[:1], 'k <= 20').count() >= 0}"


def _ids(table: Table, good: list[str]) -> str:
    if not table.schema.tracking_fields:
        return "no ids"
    return str(len(first_rows(table.scan(["k", "_ROW_ID"], "_ROW_ID >= 2").to_batches())) >= 0)


def _references(table: Table, good: list[str]) -> str:
    if "b" not in table.schema.by_name:
        return "no blobs"
    found = table.with_options({"blob-as-descriptor": "true"}).scan("b").to_arrow()["b"].to_pylist()
    sizes: Counter[int] = Counter()
    for reference in found[:20]:
        if reference is not None:
            with open_blob(reference) as file:
                sizes[len(file.read())] += 1
    return "read"


def _check(table: Table, good: list[str]) -> str:
    return "good" if check(table).is_good else "problems told"


ACTIONS: dict[str, Callable[[Table, list[str]], str]] = {
    "read": _read,
    "narrow": _narrow,
    "ids": _ids,
    "references": _references,
    "check": _check,
}
