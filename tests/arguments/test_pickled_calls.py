"""Public calls are sent to other processes."""

from __future__ import annotations

import pickle

import pytest

import paimon_spark


@pytest.mark.parametrize("name", [name for name in paimon_spark.__all__ if name not in ("__version__", "errors")])
def test_a_pool_of_processes_can_call_it(name: str) -> None:
    call = getattr(paimon_spark, name)
    assert pickle.loads(pickle.dumps(call)) is call
