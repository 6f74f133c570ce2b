"""A table as a picture: its LSM tree or file sizes above a time line. Needs matplotlib, an extra.

May import: ``cli`` and what lies below.
"""
