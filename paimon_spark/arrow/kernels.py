"""The functions of ``pyarrow.compute``, which is imported when the first one is needed.

It makes three hundred functions at import. That takes longer than a process of Spark has to do that opens a write,
commits it, or plans a read, and those call none of them.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import pyarrow.compute

    found = getattr(pyarrow.compute, name)
    globals()[name] = found
    return found
