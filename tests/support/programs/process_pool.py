"""Processes of tests that work on one table or warehouse at once, started fast."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import pytest

from support.paths import ROOT, TESTS

_IMPORTED = ("support.programs.catalog_jobs", "support.programs.commit_many", "support.tables.compacted_tables")


@contextmanager
def process_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that start as copies of one that has imported what they need, which is done once and not by each."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_IMPORTED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(TESTS), os.environ.get("PYTHONPATH", "")]))
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            yield pool
