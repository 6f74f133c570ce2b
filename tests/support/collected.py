"""Looks at what the JVM still holds of that which a test has dropped."""

from __future__ import annotations

import gc
from typing import Any


def is_collected(jvm: Any, weak: Any) -> bool:
    """True if both collectors leave nothing of an object.

    Args:
        jvm: the gateway of a Spark session.
        weak: a java.lang.ref.WeakReference of the object.
    """
    for _ in range(10):
        gc.collect()
        jvm.java.lang.System.gc()
        jvm.java.lang.System.runFinalization()
    return weak.get() is None
