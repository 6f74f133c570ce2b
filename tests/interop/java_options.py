"""The options that the genuine Java declares; run where the JVM is."""

from __future__ import annotations

from typing import Any


def keys(paimon: Any) -> set[str]:
    """Of CoreOptions, older names too."""
    found = set()
    for option in paimon.CoreOptions.getOptions():
        found |= {str(option.key()), *(str(older.getKey()) for older in option.fallbackKeys())}
    return found


def immutable_keys(paimon: Any) -> set[str]:
    return {str(key) for key in paimon.CoreOptions.IMMUTABLE_OPTIONS}
