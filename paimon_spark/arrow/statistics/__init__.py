"""Bounds and null counts of columns: collected while a file is written, and as manifests hold them (format section 6).

May import: ``arrow``.
Invariant: a bound may be wider than the values, never narrower: statistics only leave out files that cannot match.
"""
