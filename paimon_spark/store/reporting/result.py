"""The base class of results, which defines how they are printed, and the callback that reports progress."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Sized
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, TypeAlias

_SHORT = reprlib.Repr()
_SHORT.maxtuple = _SHORT.maxlist = _SHORT.maxdict = 6
_SHORT.maxstring = 300  # of a path
_SHORT.maxother = 2_000
_MILLIS = "millis"  # the duration of a call that had nothing to do
Progress: TypeAlias = Callable[[str, int, int], None]
"""(what is being done, how much of it is done, how much there is); called from one thread."""


def millis_since(began: float) -> int:
    """The duration of a call that began at this time of time.monotonic()."""
    return round((time.monotonic() - began) * 1000)


class Result:
    """Base of the frozen dataclasses that report the effects of a call; declare them with ``repr=False``.

    Their repr omits default values and empty lists, and shows only the beginning of long lists.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __repr__(self) -> str:
        values = ((item, getattr(self, item.name)) for item in fields(self))
        parts = [f"{item.name}={_SHORT.repr(value)}" for item, value in values if not _tells_nothing(item, value)]
        return f"{type(self).__name__}({', '.join(parts)})"


def _tells_nothing(item: Field[Any], value: object) -> bool:
    if isinstance(value, Result):
        others = (inner for inner in fields(value) if inner.name != _MILLIS)
        return all(_tells_nothing(inner, getattr(value, inner.name)) for inner in others)
    if isinstance(value, Sized) and not value:
        return True
    return bool(value == (item.default if item.default_factory is MISSING else item.default_factory()))
