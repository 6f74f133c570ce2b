"""For every test that writes: the table is what its metadata say."""

from __future__ import annotations

from paimon_spark import CheckResult, check


def check_table(location: str, options: dict[str, str] | None = None) -> CheckResult:
    """Verifies all snapshots and files of a table.

    Args:
        location: the table directory.
        options: storage options.

    Raises:
        AssertionError: something is not as the metadata say.
    """
    report = check(location, options)
    assert report.is_good, str(report)
    return report
