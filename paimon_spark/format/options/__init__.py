"""Table options: keys, types, defaults, and the catalogue of how this release treats each option.

May import: ``errors``. No ``format``.
Invariant: an option of the official system is honoured, has no effect on rows, or is refused by name; never ignored.
"""
