"""A table as a picture: its LSM tree or file sizes above a time line.

May import: ``cli``.
Libraries: ``matplotlib``. It is an extra.
"""
