"""Numbers and times as people read them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from paimon_spark.store.storage.local_time import iso_time

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SECRET = re.compile(
    r"(?!fields\.).*(secret|password|token|access[.-]?key|account\.key|credential|\bsas\b)", re.IGNORECASE
)
_HIDDEN = "(hidden)"
_SPANS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def size_text(size: float) -> str:
    """Bytes: ``0 B``, ``999 B``, ``1.2 MiB``."""
    unit = 0
    while abs(size) >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or abs(size) >= 100 else f"{size:.1f} {_UNITS[unit]}"


def count_text(number: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``1,200 files``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def list_text(counts: Iterable[str]) -> str:
    """Those texts of counts that are not of nothing, with commas."""
    return ", ".join(text for text in counts if not text.startswith("0 "))


def names_text(names: Collection[str], one: str, many: str | None = None) -> str:
    """``2 tags (a, b)``, ``0 tags``."""
    return count_text(len(names), one, many) + (f" ({', '.join(names)})" if names else "")


def ids_text(ids: Collection[int], one: str) -> str:
    """``1 snapshot (3)``, ``5 snapshots (3 to 7)``, ``0 snapshots``."""
    ends = sorted({min(ids), max(ids)}) if ids else []
    return count_text(len(ids), one) + (f" ({' to '.join(map(str, ends))})" if ends else "")


def span_text(millis: int) -> str:
    """A length of time by its two largest units: ``1 h``, ``2 d 3 h``, ``40 ms``."""
    parts = []
    rest = millis
    for length, unit in _SPANS:
        number, rest = divmod(rest, length)
        if number:
            parts.append(f"{number} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or f"{millis} ms"


def time_text(epoch_millis: int) -> str:
    """An instant in the zone of the call, to the second, with its offset."""
    return iso_time(epoch_millis, sep=" ", timespec="seconds")


def cut_text(text: str, length: int) -> str:
    """The text, of at most so many characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def printable(text: str) -> str:
    """A text that cannot move the cursor or change colours: what is not printable is escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return repr(character)[1:-1]


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Stored options without the values of passwords and keys, which other systems may have stored with a table."""
    return {key: _HIDDEN if _SECRET.match(key) else text for key, text in options.items()}
