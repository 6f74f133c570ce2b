"""The callback by which long operations report their progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""(what is being done, how much of it is done, how much there is); called from one thread."""
