"""Values as Java prints them. Partition directories are named by these texts, so they must agree to the letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_NANOS = 10**9
_DAY_SECONDS = 86_400


def double_text(value: float) -> str:
    """Java's Double.toString: ``1.5``, ``100.0``, ``1.0E10``, ``4.9E-324``, ``NaN``, ``-Infinity``."""
    import numpy as np

    return _floating_text(np.float64(value))


def float_text(value: float) -> str:
    """Java's Float.toString: the shortest digits that identify the 4-byte number among its neighbours."""
    import numpy as np

    return _floating_text(np.float32(value))


def _floating_text(value: np.float32 | np.float64) -> str:
    import numpy as np

    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if np.signbit(value) else "0.0"
    scientific = np.format_float_scientific(value, unique=True, trim="-", exp_digits=1)
    if "." not in scientific and type(value)(f"{float(value):.1e}") == value:
        scientific = f"{float(value):.1e}"  # where one digit would do, Java prints the nearest two: 4.9E-324, not 5.0
    mantissa, _, exponent_text = scientific.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "").rstrip("0")
    exponent = int(exponent_text)
    if exponent < -3 or exponent >= 7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 2, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def civil_date(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day number since 1970-01-01, in the proleptic Gregorian calendar, of any year."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153  # counted from March
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = year_of_era + era * 400 + (month <= 2)
    return year, month, day_of_year - (153 * month_index + 2) // 5 + 1


def civil_days(year: int, month: int, day: int) -> int:
    """The inverse of civil_date; a day past the end of its month is counted on."""
    year_from_march = year - (month <= 2)
    era, year_of_era = divmod(year_from_march, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def date_text(days: int) -> str:
    """A DATE cast to a string: ``2023-12-09``; years past 9999 lose their first digits, as in Java."""
    year, month, day = civil_date(days)
    return f"{year % 10_000:04d}-{month:02d}-{day:02d}"


def time_text(millis: int, precision: int) -> str:
    """A TIME cast to a string: ``12:34:56.78``, at least one digit after the point unless the precision is 0."""
    seconds, milli = divmod(millis % (_DAY_SECONDS * 1000), 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{f'{milli:03d}'[:precision].rstrip('0') or '0'}" if precision else text


def timestamp_text(nanos: int, precision: int) -> str:
    """A TIMESTAMP cast to a string: ``2023-11-14 22:13:20.120``, with the digits of the precision, more if needed."""
    seconds, nano = divmod(nanos, _NANOS)
    days, second = divmod(seconds, _DAY_SECONDS)
    digits = f"{nano:09d}"
    fraction = digits[:precision] + digits[precision:].rstrip("0")
    return f"{date_text(days)} {time_text(second * 1000, 0)}" + (f".{fraction}" if fraction else "")


def timestamp_iso_text(nanos: int) -> str:
    """Java's LocalDateTime.toString: ``2023-11-14T22:13``, seconds when not zero, fractions in groups of 3 digits."""
    seconds, nano = divmod(nanos, _NANOS)
    days, second = divmod(seconds, _DAY_SECONDS)
    year, month, day = civil_date(days)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    text = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{second // 3600:02d}:{second // 60 % 60:02d}"
    if second % 60 or nano:
        text += f":{second % 60:02d}"
    if nano:
        fraction = f"{nano:09d}"
        while fraction.endswith("000"):
            fraction = fraction[:-3]
        text += f".{fraction}"
    return text


def hash_order(texts: Iterable[str]) -> list[str]:
    """Distinct texts in the order in which a Java HashMap lists them when they were put in in the given order."""
    given = list(texts)
    capacity = 16
    while len(given) * 4 > capacity * 3:
        capacity *= 2

    def bucket(text: str) -> int:
        hashed = 0
        units = text.encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            hashed = (31 * hashed + high * 256 + low) & 0xFFFFFFFF
        return (hashed ^ hashed >> 16) & (capacity - 1)

    return sorted(given, key=bucket)
